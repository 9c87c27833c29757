import Cryptography
import Foundation
import GatewayBench
import Testing
import Vocabulary

/// `backchannel_logout_uri`, by the binary.
@Suite("Back-channel logout from the gateway to its clients", .blocking)
struct BackChannelLogoutTests {
    private static let route = "  - {path: /**}"

    /// The settings, with the token of an operator.
    private static func admitting(_ settings: String) -> String {
        settings.replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\n"
        )
    }

    /// Runs `body` with a gateway, the endpoint of its client `shop`, which answers each logout token, and the settings.
    private func with(
        _ answer: @escaping @Sendable (Link) -> Void,
        _ body: (Gateway, FakeUpstream, String) throws -> Void
    ) throws {
        let endpoint = try FakeUpstream(serve: FakeUpstream.answering { link, _ in answer(link) })
        defer { endpoint.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: Self.route,
            clients: """
                  - client_id: shop
                    callbacks: ["com.example.shop:/callback"]
                    backchannel_logout_uri: http://127.0.0.1:\(endpoint.port)/logout
                """
        )
        let admitting = Self.admitting(settings)
        try Gateway.with(admitting, files: ["operator-tokens": OperatorTokens.file]) { gateway throws in
            try body(gateway, endpoint, admitting)
        }
    }

    /// A browser of Ada in which the client has got a code.
    private func browser(_ gateway: Gateway) throws -> String {
        let cookie = try gateway.browser()
        let back = try gateway.get(
            "/authorize?client_id=shop&response_type=code&scope=openid&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            ["Cookie: sallyport=\(cookie)"]
        )
        #expect(back.value("location")?.contains("code=spc_") == true, "\(back.lines)")
        return cookie
    }

    /// The claims of a logout token, whose signature other tests verify.
    private func claims(_ request: Received) throws -> JSONValue {
        #expect(request.method == "POST" && request.target == "/logout", "\(request.lines)")
        let form = String(decoding: request.body, as: UTF8.self)
        let parts = form.dropFirst("logout_token=".count).split(separator: ".")
        try #require(form.hasPrefix("logout_token=") && parts.count == 3, "\(form)")
        let payload = try #require(Base64URL.decoded(Array(parts[1].utf8)[...]))
        return JSONText.decode(payload) ?? .null
    }

    @Test("A client that does not answer delays a sign-out for two seconds at most")
    func silence() throws {
        try self.with { _ in
        } _: { gateway, endpoint, _ throws in
            let cookie = try self.browser(gateway)
            let start = Date()
            #expect(try gateway.signOut(cookie).status == 303)
            // A second try would begin after seven seconds.
            #expect(Date().timeIntervalSince(start) < 4.5)
            #expect(try gateway.get("/x", ["Cookie: sallyport=\(cookie)"]).status != 200)
            #expect(eventually { (try? gateway.metric(#"sallyport_client_logouts_total{result="later"}"#)) == 1 })
            #expect(endpoint.requests.count == 1)
        }
    }

    @Test("A client that refuses a logout token is not tried again, and the audit stream names it")
    func refusal() throws {
        try self.with { link in
            link.answer("400 Bad Request", body: "no")
        } _: { gateway, endpoint, _ throws in
            #expect(try gateway.signOut(try self.browser(gateway)).status == 303)
            let event = #""event":"client.logout_failed""#
            #expect(eventually { gateway.output.contains(event) })
            let line = try #require(gateway.output.split(separator: "\n").first { $0.contains(event) })
            for part in [
                #""client_id":"shop""#, #""subject":"user-1815""#, #""result":"refused""#, #""detail":"status 400""#,
            ] { #expect(line.contains(part), "\(line)") }
            #expect(try gateway.metric(#"sallyport_client_logouts_total{result="refused"}"#) == 1)
            #expect(endpoint.requests.count == 1)
            let claims = try self.claims(try #require(endpoint.requests.first))
            let sid = try #require(claims["sid"]?.string)
            #expect(line.contains(sid) && claims["aud"] == "shop" && claims["sub"] == "user-1815")
        }
    }

    @Test("An operator who ends all sessions of a user sends one token for all sessions at the client")
    func operatorEnd() throws {
        try self.with { link in
            link.answer()
        } _: { gateway, endpoint, _ throws in
            for _ in 0..<2 { _ = try self.browser(gateway) }
            let ended = try gateway.operate("DELETE", "/sessions?subject=user-1815", token: OperatorTokens.all)
            #expect(ended.status == 204, "\(ended.text)")
            #expect(eventually { (try? gateway.metric(#"sallyport_client_logouts_total{result="ok"}"#)) == 1 })
            #expect(endpoint.requests.count == 1)
            let claims = try self.claims(try #require(endpoint.requests.first))
            #expect(claims["sub"] == "user-1815" && claims["sid"] == nil)
        }
    }

    @Test("A reload without a user of the settings sends one token for all sessions of the user")
    func removedUser() throws {
        try self.with { link in
            link.answer()
        } _: { gateway, endpoint, settings throws in
            _ = try self.browser(gateway)
            try gateway.reload(settings.replacing("id: user-1815", with: "id: user-1816"))
            #expect(eventually { (try? gateway.metric(#"sallyport_client_logouts_total{result="ok"}"#)) == 1 })
            let claims = try self.claims(try #require(endpoint.requests.first))
            #expect(claims["sub"] == "user-1815" && claims["sid"] == nil)
        }
    }

    @Test("A gateway that is a client of another one verifies its logout tokens, and ends its sessions")
    func chain() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let ports = (home: try ServerPorts.take(), away: try ServerPorts.take())
        let (home, away) = ("http://127.0.0.1:\(ports.home)", "http://127.0.0.1:\(ports.away)")
        let provider = Config.file(
            upstream: app.port,
            routes: Self.route,
            clients: """
                  - client_id: away
                    client_secret_file: away.secret
                    callbacks: ["\(away)/.sallyport/callback"]
                    backchannel_logout_uri: \(away)/.sallyport/backchannel-logout
                """,
            publicURL: home,
            listen: "127.0.0.1:\(ports.home)"
        )
        let client = """
            public_url: \(away)
            listen: 127.0.0.1:\(ports.away)
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            routes: [{path: /**}]
            provider:
              oidc: {issuer: "\(home)/", client_id: away, client_secret_file: away.secret}
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = ["away.secret": "a secret of the client away\n", "operator-tokens": OperatorTokens.file]
        try Gateway.with(Self.admitting(provider), files: files) { gateway throws in
            try Gateway.with(client, files: files) { other throws in
                #expect(eventually { (try? other.admin("/readyz").status) == 200 })
                for byOperator in [false, true] {
                    var user = WebUser(other)
                    let arrived = try user.submit(try user.open("\(away)/x"))
                    try #require(arrived.url == "\(away)/x" && arrived.answer.status == 200, "\(user.trail)")
                    if byOperator {
                        let target = "/sessions?subject=user-1815"
                        #expect(try gateway.operate("DELETE", target, token: OperatorTokens.all).status == 204)
                    } else {
                        #expect(try user.signOut(home).status == 303)
                    }
                    let fetch = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: */*"]
                    #expect(eventually { (try? user.send("GET", "\(away)/x", fetch).status) == 401 })
                }
                #expect(eventually { (try? gateway.metric(#"sallyport_client_logouts_total{result="ok"}"#)) == 2 })
                #expect(
                    eventually { other.output.components(separatedBy: "session.provider_signed_out").count == 3 }
                )
            }
        }
    }
}
