import Foundation
import GatewayBench
import Testing

/// Refusals that may be attacks on a session are in the audit stream.
@Suite("Audit of refusals", .blocking) struct AuditTests {
    private let routes = """
          - path: /**
          - path: /bound/**
            binding: ip
          - path: /optional/**
            auth: optional
          - path: /public/**
            auth: public
        """

    /// The lines of a stream with this reason, as soon as there are `count` of them.
    private func lines(_ gateway: Gateway, _ stream: String, _ reason: String, count: Int) -> [String] {
        func found() -> [String] {
            gateway.output.split(separator: "\n").map(String.init).filter {
                $0.contains("\"stream\":\"\(stream)\"") && $0.contains("\"reason\":\"\(reason)\"")
            }
        }
        _ = eventually { found().count >= count }
        return found()
    }

    @Test("A binding mismatch, a cross-site request and two session cookies are audited with the user")
    func events() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: self.routes)) { gateway throws in
            let ada = try gateway.browser()
            let grace = try gateway.browser(.grace)
            func cookies(_ tokens: String...) -> String {
                "Cookie: " + tokens.map { "sallyport=\($0)" }.joined(separator: "; ")
            }
            #expect(try gateway.get("/bound/", [cookies(ada)]).status == 200)
            let stolen = try gateway.get("/bound/", [cookies(ada), "User-Agent: thief/1"], from: "127.0.0.2")
            #expect(stolen.status == 401 && stolen.reason == "binding.ip_mismatch")
            let mismatches = self.lines(gateway, "audit", "binding.ip_mismatch", count: 1)
            #expect(mismatches.count == 1)
            for part in [
                #""event":"binding.mismatch""#, #""code":"w""#, #""subject":"user-1815""#, #""session":"ses_"#,
                #""address":"127.0.0.2""#, #""bound_address":"127.0.0.1""#, #""user_agent":"thief/1""#,
            ] {
                #expect(mismatches.first?.contains(part) == true, "\(part): \(mismatches)")
            }

            let forged = try gateway.request(
                Request.post("/x", [cookies(grace), "Sec-Fetch-Site: cross-site"], body: "")
            )
            #expect(forged.status == 403 && forged.reason == "request.cross_site")
            let crossSite = self.lines(gateway, "audit", "request.cross_site", count: 1)
            #expect(crossSite.count == 1 && crossSite[0].contains(#""event":"session.denied""#))
            #expect(crossSite.first?.contains(#""subject":"user-1906""#) == true, "\(crossSite)")

            // Ada's own cookie, and a planted one.
            let planted = String(ada.prefix(58)) + (ada.hasSuffix("A") ? "B" : "A")
            let ambiguous = try gateway.get("/", [cookies(ada, planted)])
            #expect(ambiguous.status == 401 && ambiguous.reason == "credential.ambiguous_cookie")
            #expect(ambiguous.sessionCookie == "")
            let first = self.lines(gateway, "audit", "credential.ambiguous_cookie", count: 1)
            #expect(first.count == 1 && first[0].contains(#""subject":"user-1815""#), "\(first)")
            // With cookies of two users, it is unknown which one is the browser's.
            #expect(try gateway.get("/optional/", [cookies(ada, grace)]).status == 200)
            #expect(app.requests.last?.values("x-auth-subject") == [])
            let second = self.lines(gateway, "audit", "credential.ambiguous_cookie", count: 2)
            #expect(second.count == 2 && second[1].contains("subject") == false, "\(second)")
            // A public route needs no session, so a note in the access log is enough.
            #expect(try gateway.get("/public/", [cookies(ada, grace)]).status == 200)
            let logged = self.lines(gateway, "access", "credential.ambiguous_cookie", count: 3)
            #expect(logged.count == 3, "\(logged)")
            #expect(self.lines(gateway, "audit", "credential.ambiguous_cookie", count: 2).count == 2)
            for token in [ada, grace, planted] { #expect(!gateway.output.contains(token)) }
        }
    }

    @Test("A token of a gateway with another secret is refused with that reason, as bearer token and as cookie")
    func otherKey() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, routes: self.routes)
        try Gateway.with(settings) { other throws in
            try Gateway.with(settings) { gateway throws in
                let (native, browser) = (try other.native(), try other.browser())
                let bearer = try gateway.get("/", ["Authorization: Bearer \(native)"])
                #expect(bearer.status == 401 && bearer.reason == "credential.other_key")
                #expect(bearer.value("www-authenticate") == #"Bearer error="invalid_token""#)
                let cookie = try gateway.get("/", ["Cookie: sallyport=\(browser)"])
                #expect(cookie.status == 401 && cookie.reason == "credential.other_key")
                #expect(cookie.sessionCookie == nil, "the gateway that made it may be behind the same name")
                #expect(try gateway.get("/optional/", ["Cookie: sallyport=\(browser)"]).status == 200)
                #expect(app.requests.last?.values("x-auth-subject") == [])
                let mint = try gateway.exchange(native)
                #expect(mint.status == 400 && mint.text.contains("invalid_grant"))
                #expect(!self.lines(gateway, "audit", "credential.other_key", count: 1).isEmpty)
                // Unknown tokens of its own secret get another reason.
                let own = try gateway.native()
                let unknown = String(own.prefix(58)) + (own.hasSuffix("A") ? "B" : "A")
                #expect(try gateway.get("/", ["Authorization: Bearer \(unknown)"]).reason == "session.unknown")
            }
        }
    }

    @Test("A failed sign-in has the same account name as the user's successful one, and not what was typed")
    func failedSignIn() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, routes: self.routes)) { gateway throws in
            _ = try gateway.browser()
            let answer = try gateway.request(
                Request.post(
                    "/.sallyport/login",
                    ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
                    body: "identifier=ada@example.com&password=guess-0815&return_to=/"
                )
            )
            #expect(answer.status == 422)
            let failed = self.lines(gateway, "audit", "signin.refused", count: 1)
            let account = try #require(failed.first?.firstMatch(of: /"account":"([A-Za-z0-9_-]{22})"/)?.1)
            let succeeded = gateway.output.split(separator: "\n").first { $0.contains(#""event":"session.created""#) }
            #expect(succeeded?.contains("\"subject\":\"user-1815\",\"account\":\"\(account)\"") == true)
            let audits = gateway.output.split(separator: "\n").filter { $0.contains(#""stream":"audit""#) }
            #expect(!audits.contains { $0.contains("ada@example.com") || $0.contains("guess-0815") })
        }
    }
}
