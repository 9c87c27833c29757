import Foundation
import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// The provider's tokens are renewed while a session is used, through the built binary.
@Suite("Renewal at an OpenID provider", .blocking) struct ProviderRenewalTests {
    private static let script = ["Sec-Fetch-Mode: cors", "Accept: */*"]
    private static let routes = """
        routes:
          - path: /**
        identity:
          headers:
            X-User: subject
            X-Name: identity.traits.name
            X-Access: provider.access_token
            X-Id: provider.id_token
        """

    private static func provider(life: Duration, refresh: OpenIDScript.Refresh = .rotating(overlap: .zero))
        -> OpenIDScript
    {
        var script = OpenIDScript()
        script.accessTokenLifetime = life
        script.refresh = refresh
        script.user.claims["name"] = "Ada"
        return script
    }

    /// The value of a field in the last request that the app received.
    private func last(_ name: String, _ bench: OpenIDSignInBench) -> String? {
        bench.app.requests.last?.lines.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    /// Uses the session until the app sees what is expected.
    private func use(
        _ browser: OpenIDBrowser,
        until condition: (Answer) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var browser = browser
        let isSeen = eventually { (try? browser.load("/x", Self.script)).map(condition) ?? false }
        #expect(isSeen, sourceLocation: sourceLocation)
    }

    @Test(
        "In use, tokens and claims are renewed, the app sees the new ones, and no token is in a log or at the session page"
    )
    func renewal() throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(3)), "", routes: Self.routes) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let (access, id) = (try #require(self.last("X-Access", bench)), try #require(self.last("X-Id", bench)))
            #expect(self.last("X-Name", bench) == "Ada" && id.split(separator: ".").count == 3)
            bench.provider.change { $0.user.claims["name"] = "Countess Lovelace" }
            let session = browser.session
            self.use(browser) { _ in self.last("X-Name", bench) == "Countess Lovelace" }
            #expect(self.last("X-Access", bench) != access && self.last("X-Id", bench) != id)
            #expect(browser.session == session)
            self.use(browser) { _ in bench.provider.refreshes >= 3 }
            #expect(bench.provider.reuses == 0)
            let document = try browser.load("/.sallyport/session", Self.script).text
            #expect(!document.contains(try #require(self.last("X-Access", bench))))
            let renewed = #"sallyport_provider_renewals_total{result="renewed"}"#
            #expect(eventually { ((try? bench.gateway.metric(renewed)) ?? 0) >= 3 })
            // What a client claims to be a token of the provider does not reach the app.
            _ = try browser.load("/x", Self.script + ["X-Access: forged", "x_id: forged"])
            #expect(bench.app.requests.last?.lines.contains { $0.contains("forged") } == false)
        }
    }

    @Test("Where renewals bring no id_token, the app gets the first one to its end, and then none")
    func expiredIDToken() throws {
        var script = Self.provider(life: .seconds(3))
        script.alterIDToken = { claims in
            guard case .integer(let issuedAt)? = claims["iat"] else { return }
            claims["exp"] = .integer(issuedAt + 5)
        }
        try OpenIDSignInBench.with(script, "", routes: Self.routes) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            #expect(self.last("X-Id", bench) != nil)
            bench.provider.change { $0.alterTokenAnswer = { $0["id_token"] = nil } }
            self.use(browser) { $0.status == 200 && self.last("X-Id", bench) == nil }
            #expect(self.last("X-Access", bench) != nil)
            bench.provider.change { $0.alterTokenAnswer = nil }
            self.use(browser) { _ in self.last("X-Id", bench) != nil }
        }
    }

    @Test("A user who returns after the tokens expired gets fresh ones with the first request")
    func afterAPause() throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(2)), "", routes: Self.routes) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let access = self.last("X-Access", bench)
            // Longer than the life of the tokens, and than a loop knows a session without reading it.
            Thread.sleep(forTimeInterval: 6)
            #expect(try browser.load("/x", Self.script).status == 200)
            #expect(self.last("X-Access", bench) != access && self.last("X-Access", bench) != nil)
            #expect(bench.provider.refreshes == 1)
        }
    }

    @Test("When the provider ends its grant, the session ends everywhere, with an audit event")
    func ended() throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(2)), "") { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            bench.provider.endGrants()
            self.use(browser) { $0.status == 401 }
            #expect(eventually { bench.gateway.output.contains(#""reason":"session.provider_ended""#) })
            let event = try #require(
                bench.gateway.output.split(separator: "\n").first { $0.contains("session.provider_ended") }
            )
            #expect(event.contains(#""event":"session.ended""#) && event.contains("user-1"))
        }
    }

    @Test(
        "F15: An outage of the provider, or a page in place of its answer, signs nobody out, and ends with a renewal",
        arguments: [
            OpenIDFault.answer(status: 503, fields: [(name: "Retry-After", value: "1")]),
            .answer(
                status: 200,
                body: "<html>Maintenance</html>",
                fields: [(name: "Content-Type", value: "text/html")]
            ),
        ]
    )
    func outage(_ fault: OpenIDFault) throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(2)), "") { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            bench.provider.breakDown(.token, with: fault)
            let end = Date().addingTimeInterval(6)
            while Date() < end { #expect(try browser.load("/x", Self.script).status == 200) }
            #expect(try bench.gateway.metric(#"sallyport_provider_renewals_total{result="later"}"#) > 0)
            bench.provider.heal(.token)
            self.use(browser) { _ in
                ((try? bench.gateway.metric(#"sallyport_provider_renewals_total{result="renewed"}"#)) ?? 0) > 0
            }
        }
    }

    @Test(
        "If the answer is lost, the app that needs tokens gets requests until they expire; then a page signs in again"
    )
    func lost() throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(4)), "", routes: Self.routes) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let session = browser.session
            bench.provider.fail(.token, with: .closesAfterwards, .closesAfterwards)
            self.use(browser) { $0.status == 401 && $0.reason == "session.renewal_ambiguous" }
            #expect(bench.gateway.output.contains(#""event":"session.renewal_failed""#))
            #expect(browser.session == session && bench.provider.refreshes == 2)
            // The provider knows the user, so nobody types a password.
            #expect(try browser.open("/y").status == 200)
            #expect(bench.app.requests.last?.target == "/y" && self.last("X-Access", bench) != nil)
            #expect(browser.session != session)
        }
    }

    @Test("If the answer is lost, an app that needs no tokens notices nothing")
    func lostUnnoticed() throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(2)), "") { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            bench.provider.fail(.token, with: .closesAfterwards, .closesAfterwards)
            self.use(browser) { _ in bench.gateway.output.contains(#""event":"session.renewal_failed""#) }
            let end = Date().addingTimeInterval(3)
            while Date() < end { #expect(try browser.load("/x", Self.script).status == 200) }
            #expect(bench.provider.refreshes == 2)
        }
    }

    @Test("A sign-out revokes the tokens at the provider")
    func revocation() throws {
        try OpenIDSignInBench.with(Self.provider(life: .seconds(300)), "") { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            #expect(bench.provider.grantCount == 1)
            let fields = ["Origin: \(Request.origin)", "Content-Length: 0"]
            _ = try browser.load("/.sallyport/logout", fields, method: "POST")
            #expect(eventually { bench.provider.grantCount == 0 })
            #expect(bench.provider.count(.revocation) == 1)
        }
    }
}
