import Foundation
import GatewayBench
import Testing

@Suite("A client that was deleted", .blocking)
struct DeletedClientTests {
    private static let clients = """
          - client_id: app
            callbacks: ["com.example.app:/callback"]
            session_transfer: {can_create_session_transfer_token: true}
          - client_id: web
            session_transfer: {allowed_authentication_methods: [query]}
          - client_id: server
            client_secret_file: server.secret
        """
    private static let apis = """
        apis:
          - {audience: "https://api.example.com", scopes: [orders], routes: [all], resource_servers: [server]}
        """

    /// A gateway, its settings, and an app that streams without end.
    private func with(_ body: (Gateway, String) throws -> Void) throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            _ = link.wire.receiveAll(seconds: 30)
        }
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: "  - {name: all, path: /**, client: web}",
            clients: Self.clients,
            loops: 2,
            more: Self.apis
        ).replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\n"
        )
        let files = ["server.secret": "a secret of the tests\n", "operator-tokens": OperatorTokens.file]
        try Gateway.with(settings, files: files) { try body($0, settings) }
    }

    private static func post(_ form: String, path: String = "/oauth/token", to gateway: Gateway) throws -> Answer {
        let head = [
            "POST \(path) HTTP/1.1", "Host: \(Request.host)", "Content-Type: application/x-www-form-urlencoded",
            "Content-Length: \(form.utf8.count)",
        ]
        return try gateway.request(head.joined(separator: "\r\n") + "\r\n\r\n" + form)
    }

    private static func match(_ text: String, _ expression: Regex<(Substring, Substring)>) throws -> String {
        String(try #require(text.firstMatch(of: expression), "\(text)").1)
    }

    /// Everything that a client can have.
    private struct Belongings {
        let cookie: String
        let native: String
        let transfer: String
        let code: String
        let access: String
        let refresh: String
        let stream: Wire

        init(_ gateway: Gateway) throws {
            self.cookie = try gateway.browser()
            self.native = try gateway.native()
            self.transfer = try gateway.mint(self.native, client: "app")
            let redeemed = try DeletedClientTests.redeem(try DeletedClientTests.code(gateway, self.cookie), gateway)
            self.access = try DeletedClientTests.match(redeemed.text, /(spa_[A-Za-z0-9_-]+)/)
            self.refresh = try DeletedClientTests.match(redeemed.text, /(spr_[A-Za-z0-9_-]+)/)
            self.code = try DeletedClientTests.code(gateway, self.cookie)
            self.stream = try gateway.connect()
            self.stream.send(Request.get("/stream", ["Authorization: Bearer \(self.access)"]))
            #expect(self.stream.receive(through: "data: 1") != nil)
            #expect(try self.isActive(self.access, gateway))
            #expect(try gateway.get("/userinfo", ["Authorization: Bearer \(self.access)"]).status == 200)
        }

        /// Expects that all of it is refused, and that nothing of the user's is.
        ///
        /// - Parameter error: What the token endpoint says of the client or its grants.
        func expectRefused(_ gateway: Gateway, _ error: String) throws {
            let isClosed = if case .silence = self.stream.receiveAll(seconds: 10).last { false } else { true }
            #expect(isClosed, "a stream stays open")
            let route = try gateway.get("/", ["Authorization: Bearer \(self.access)"])
            #expect(route.status == 401 && route.reason == "session.client_gone", "\(route.lines)")
            let user = try gateway.get("/userinfo", ["Authorization: Bearer \(self.access)"])
            #expect(user.status == 401 && user.text.contains("\"invalid_token\""), "\(user.text)")
            for token in [self.access, self.refresh] { #expect(try !self.isActive(token, gateway)) }
            for answer in [
                try DeletedClientTests.redeem(self.code, gateway),
                try DeletedClientTests.post(
                    "grant_type=refresh_token&client_id=app&refresh_token=\(self.refresh)",
                    to: gateway
                ),
            ] {
                #expect(answer.status == 400 && answer.text.contains("\"\(error)\""), "\(answer.text)")
            }
            let handoff = try gateway.get("/?session_transfer_token=\(self.transfer)")
            #expect(handoff.value("set-cookie")?.contains("sps_") != true && handoff.status != 200, "\(handoff.lines)")
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(self.native)"]).status == 200)
            #expect(try gateway.get("/sessions/whoami", ["Cookie: sallyport=\(self.cookie)"]).status == 200)
        }

        func isActive(_ token: String, _ gateway: Gateway) throws -> Bool {
            let answer = try DeletedClientTests.post(
                "token=\(token)&client_id=server&client_secret=a+secret+of+the+tests",
                path: "/oauth/introspect",
                to: gateway
            )
            #expect(answer.status == 200, "\(answer.text)")
            return answer.text.contains("\"active\":true")
        }
    }

    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    private static func code(_ gateway: Gateway, _ cookie: String) throws -> String {
        let query =
            "/authorize?client_id=app&response_type=code&scope=openid+offline_access+orders&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&audience=https://api.example.com"
        let back = try gateway.get(query, ["Cookie: sallyport=\(cookie)"])
        return try Self.match(back.value("location") ?? "\(back.lines)", /[?&]code=([A-Za-z0-9_-]+)/)
    }

    private static func redeem(_ code: String, _ gateway: Gateway) throws -> Answer {
        let form = "grant_type=authorization_code&client_id=app&code=\(code)&code_verifier=\(Self.verifier)"
        return try Self.post(form, to: gateway)
    }

    private static let again = """
        {"client_id": "app", "app_type": "native", "callbacks": ["com.example.app:/callback"],
         "session_transfer": {"can_create_session_transfer_token": true}}
        """

    @Test("its tokens, codes, families and streams end at once; another one with its id does not get them back")
    func deleted() throws {
        try self.with { gateway, _ in
            let belongings = try Belongings(gateway)
            let all = OperatorTokens.all
            #expect(try gateway.operate("DELETE", "/api/v2/clients/app", token: all).status == 204)
            try belongings.expectRefused(gateway, "invalid_client")
            let made = try gateway.operate("POST", "/api/v2/clients", token: all, json: Self.again)
            #expect(made.status == 201, "\(made.text)")
            try belongings.expectRefused(gateway, "invalid_grant")
            _ = try Belongings(gateway)
        }
    }

    @Test("one that leaves the file at a reload loses them too, also if it comes back; other changes end nothing")
    func left() throws {
        try self.with { gateway, settings in
            let belongings = try Belongings(gateway)
            let kept = settings.replacing(
                "client_id: app\n",
                with: "client_id: app\n    initiate_login_uri: https://app.example.com/\n"
            )
            try gateway.reload(kept)
            #expect(try belongings.isActive(belongings.access, gateway))
            try gateway.reload(settings.replacing("client_id: app\n", with: "client_id: other\n"))
            try belongings.expectRefused(gateway, "invalid_client")
            try gateway.reload(settings)
            try belongings.expectRefused(gateway, "invalid_grant")
            _ = try Belongings(gateway)
        }
    }

    @Test("one that may create no more session-transfer tokens loses those that it has")
    func permission() throws {
        try self.with { gateway, _ in
            let belongings = try Belongings(gateway)
            let patch = #"{"session_transfer": {"can_create_session_transfer_token": false}}"#
            let changed = try gateway.operate(
                "PATCH",
                "/api/v2/clients/app",
                token: OperatorTokens.all,
                json: patch
            )
            #expect(changed.status == 200)
            let handoff = try gateway.get("/?session_transfer_token=\(belongings.transfer)")
            #expect(handoff.value("set-cookie")?.contains("sps_") != true && handoff.status == 303, "\(handoff.lines)")
            #expect(eventually { gateway.output.contains(#""reason":"handoff.not_permitted""#) })
            #expect(try belongings.isActive(belongings.access, gateway))
        }
    }
}
