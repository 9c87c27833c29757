import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// Sign-ins beside a userinfo endpoint that fails, through the built binary.
@Suite("A userinfo endpoint that fails", .blocking) struct UserInfoTests {
    private static let claims = "claims: {acr: {mfa: aal2}, traits: {team: team}}"
    private static let routes = """
        routes:
          - path: /**
        identity:
          headers:
            X-User: subject
            X-Email: identity.traits.email
            X-Team: identity.traits.team
        """
    private static let missed = "sallyport_provider_userinfo_missed_total"
    private static let warning = "provider: only the id_tokens of users are used"

    private static let faults: [OpenIDFault] = [
        .answer(status: 401), .answer(status: 403), .answer(status: 404), .answer(status: 204), .answer(status: 500),
        .answer(status: 200, body: "<html>", fields: [(name: "Content-Type", value: "text/html")]),
        .answer(status: 200, body: #"{"sub":"#, fields: [(name: "Content-Type", value: "application/json")]),
        .answer(
            status: 200,
            body: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c2VyLTEiLCJ0ZWFtIjoiYWRtaW4ifQ.",
            fields: [(name: "Content-Type", value: "application/jwt")]
        ),
        .closes,
    ]

    @Test("A sign-in goes on with the id_token's claims, with one warning a minute and a count")
    func auto() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.claims, routes: Self.routes) { (bench) throws in
            for (number, fault) in Self.faults.enumerated() {
                bench.provider.breakDown(.userinfo, with: fault)
                var browser = OpenIDBrowser(bench)
                #expect(try browser.open("/x").status == 200, "\(fault)")
                let lines = try #require(bench.app.requests.last).lines
                #expect(lines.contains("X-User: user-1") && lines.contains("X-Email: ada@example.com"), "\(lines)")
                #expect(!lines.contains { $0.hasPrefix("X-Team") })
                #expect(try bench.gateway.metric(Self.missed) == Double(number + 1))
            }
            #expect(eventually { bench.gateway.output.contains(Self.warning) })
            #expect(bench.gateway.output.split(separator: Self.warning).count == 2, "one line")
            bench.provider.heal(.userinfo)
            bench.provider.change { $0.user.userinfo["team"] = "blue" }
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            #expect(bench.app.requests.last?.lines.contains("X-Team: blue") == true)
            #expect(try bench.gateway.metric(Self.missed) == Double(Self.faults.count))
        }
    }

    @Test("A sub that differs is refused; where userinfo is required, so is every failure")
    func refused() throws {
        for use in ["auto", "required"] {
            try OpenIDSignInBench.with(OpenIDScript(), "\(Self.claims)\nuserinfo: \(use)", routes: Self.routes) {
                (bench) throws in
                bench.provider.change { $0.alterUserinfo = { $0["sub"] = "user-2" } }
                var browser = OpenIDBrowser(bench)
                let page = try browser.open("/x")
                #expect(page.status == 502 && browser.session == nil, "\(page.lines)")
                guard use == "required" else { return }
                for fault in Self.faults {
                    bench.provider.breakDown(.userinfo, with: fault)
                    var browser = OpenIDBrowser(bench)
                    let page = try browser.open("/x")
                    #expect([502, 503].contains(page.status) && browser.session == nil, "\(fault): \(page.lines)")
                }
            }
        }
    }

    @Test("Where userinfo is off, it is not asked")
    func off() throws {
        try OpenIDSignInBench.with(OpenIDScript(), "\(Self.claims)\nuserinfo: off", routes: Self.routes) {
            (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            #expect(bench.provider.count(.userinfo) == 0)
        }
    }
}
