import Foundation
import GatewayBench
import Testing

@Suite("A user who was deleted", .blocking)
struct DeletedUserTests {
    private static let form = "Content-Type: application/x-www-form-urlencoded"

    private static func post(_ form: String, path: String = "/oauth/token", to gateway: Gateway) throws -> Answer {
        let head = [
            "POST \(path) HTTP/1.1", "Host: \(Request.host)", Self.form, "Content-Length: \(form.utf8.count)",
        ]
        return try gateway.request(head.joined(separator: "\r\n") + "\r\n\r\n" + form)
    }

    private static func match(_ text: String, _ expression: Regex<(Substring, Substring)>) throws -> String {
        String(try #require(text.firstMatch(of: expression)).1)
    }

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
          - {audience: "https://api.example.com", scopes: [orders], resource_servers: [server]}
        """

    /// A gateway, its settings, and an app that streams without end.
    private func with(_ body: (Gateway, String) throws -> Void) throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            _ = link.wire.receiveAll(seconds: 30)
        }
        defer { app.stop() }
        let routes = "  - {path: /**, client: web}"
        let settings = Config.file(
            upstream: app.port,
            routes: routes,
            clients: Self.clients,
            loops: 2,
            more: Self.apis
        )
        try Gateway.with(settings, files: ["server.secret": "a secret of the tests\n"]) { try body($0, settings) }
    }

    /// Everything that a user can have.
    private struct Belongings {
        var cookie: String
        var native: String
        var transfer: String
        var code: String
        var access: String
        var refresh: String
        let streams: [Wire]

        init(_ gateway: Gateway) throws {
            self.cookie = try gateway.browser()
            self.native = try gateway.native()
            self.transfer = try gateway.mint(self.native, client: "app")
            let redeemed = try DeletedUserTests.redeem(try DeletedUserTests.code(gateway, self.cookie), gateway)
            self.access = try DeletedUserTests.match(redeemed.text, /(spa_[A-Za-z0-9_-]+)/)
            self.refresh = try DeletedUserTests.match(redeemed.text, /(spr_[A-Za-z0-9_-]+)/)
            self.code = try DeletedUserTests.code(gateway, self.cookie)
            self.streams = try ["Cookie: sallyport=\(self.cookie)", "Authorization: Bearer \(self.native)"].map {
                field in
                let wire = try gateway.connect()
                wire.send(Request.get("/stream", [field]))
                #expect(wire.receive(through: "data: 1") != nil)
                return wire
            }
        }

        /// Expects that all of it is refused, with these reasons for the session, and these for a refresh.
        func expectRefused(_ gateway: Gateway, _ reason: String, refresh: Int) throws {
            for wire in self.streams {
                guard case .silence = wire.receiveAll(seconds: 10).last else { continue }
                Issue.record("a stream stays open")
            }
            for field in ["Cookie: sallyport=\(self.cookie)", "Authorization: Bearer \(self.native)"] {
                let answer = try gateway.get("/", [field])
                #expect(answer.status == 401 && answer.reason == reason, "\(answer.lines)")
            }
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(self.native)"]).status == 401)
            let authorize = try gateway.get(DeletedUserTests.authorize, ["Cookie: sallyport=\(self.cookie)"])
            #expect(authorize.status == 303 && authorize.value("location")?.contains("/.sallyport/login") == true)
            let code = try DeletedUserTests.redeem(self.code, gateway)
            #expect(code.status == 400 && code.text.contains("\"invalid_grant\""), "\(code.text)")
            let mint = try gateway.exchange(self.native, client: "app")
            #expect(mint.status == 400 && mint.text.contains("\"invalid_grant\""), "\(mint.text)")
            let exchange = try DeletedUserTests.post(
                "grant_type=urn:ietf:params:oauth:grant-type:token-exchange&client_id=app&subject_token=\(self.native)"
                    + "&subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
                to: gateway
            )
            #expect(exchange.status == 400 && exchange.text.contains("\"invalid_grant\""), "\(exchange.text)")
            let handoff = try gateway.get("/?session_transfer_token=\(self.transfer)")
            #expect(handoff.value("set-cookie")?.contains("sps_") != true && handoff.status != 200, "\(handoff.lines)")
            let user = try gateway.get("/userinfo", ["Authorization: Bearer \(self.access)"])
            #expect(user.status == 401 && user.text.contains("\"invalid_token\""), "\(user.text)")
            for token in [self.access, self.refresh] { #expect(try !self.isActive(token, gateway)) }
            let refreshed = try DeletedUserTests.post(
                "grant_type=refresh_token&client_id=app&refresh_token=\(self.refresh)",
                to: gateway
            )
            #expect(refreshed.status == refresh, "\(refreshed.text)")
        }

        func isActive(_ token: String, _ gateway: Gateway) throws -> Bool {
            let answer = try DeletedUserTests.post(
                "token=\(token)&client_id=server&client_secret=a+secret+of+the+tests",
                path: "/oauth/introspect",
                to: gateway
            )
            #expect(answer.status == 200, "\(answer.text)")
            return answer.text.contains("\"active\":true")
        }
    }

    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let authorize =
        "/authorize?client_id=app&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
        + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private static func code(_ gateway: Gateway, _ cookie: String) throws -> String {
        let query = Self.authorize + "&audience=https://api.example.com"
        let back = try gateway.get(query, ["Cookie: sallyport=\(cookie)"])
        return try Self.match(back.value("location") ?? "", /[?&]code=([A-Za-z0-9_-]+)/)
    }

    private static func redeem(_ code: String, _ gateway: Gateway) throws -> Answer {
        let form = "grant_type=authorization_code&client_id=app&code=\(code)&code_verifier=\(Self.verifier)"
        return try Self.post(form, to: gateway)
    }

    @Test("a reload without the user ends everything that the user has, on every loop, until the user is back")
    func everything() throws {
        try self.with { gateway, settings in
            let belongings = try Belongings(gateway)
            let other = ["Cookie: sallyport=\(try gateway.browser(.grace))"]
            #expect(try belongings.isActive(belongings.access, gateway))
            let userInfo = ["Authorization: Bearer \(belongings.access)"]
            for method in ["GET", "HEAD"] {
                let answer = try gateway.request(Request.get("/userinfo", userInfo, method: method))
                #expect(answer.status == 200 && answer.body.isEmpty == (method == "HEAD"), "\(answer.lines)")
            }
            try gateway.reload(settings.replacing("id: user-1815", with: "id: user-1816"))
            try belongings.expectRefused(gateway, "session.user_gone", refresh: 403)
            #expect(gateway.output.contains(#""reason":"session.user_gone""#))
            let words = ["The refresh_token was generated for a user who doesn't exist anymore.", "invalid_grant"]
            for _ in 0..<2 {
                let gone = try Self.post(
                    "grant_type=refresh_token&client_id=app&refresh_token=\(belongings.refresh)",
                    to: gateway
                )
                #expect(gone.status == 403 && gone.value("content-type")?.hasPrefix("application/json") == true)
                for word in words { #expect(gone.text.contains(word), "\(gone.text)") }
            }
            #expect(try gateway.request(Request.get("/sessions/whoami", other)).status == 200)
            try gateway.reload(settings)
            let cookie = ["Cookie: sallyport=\(belongings.cookie)"]
            #expect(try gateway.request(Request.get("/sessions/whoami", cookie)).status == 200)
            let refresh = "grant_type=refresh_token&client_id=app&refresh_token=\(belongings.refresh)"
            #expect(try Self.post(refresh, to: gateway).status == 200)
        }
    }

    @Test("a reload with another password ends everything for good; other traits end nothing")
    func password() throws {
        try self.with { gateway, settings in
            let belongings = try Belongings(gateway)
            let cookie = ["Cookie: sallyport=\(belongings.cookie)"]
            let renamed = settings.replacing("name: Ada Lovelace", with: "name: Ada King")
            try gateway.reload(renamed)
            #expect(try gateway.request(Request.get("/sessions/whoami", cookie)).status == 200)
            let changed = renamed.replacing("JK3x34E88OjnlWzoh", with: "KK3x34E88OjnlWzoh")
            try gateway.reload(changed)
            try belongings.expectRefused(gateway, "session.unknown", refresh: 400)
            #expect(gateway.output.contains(#""reason":"session.password_changed""#))
            try gateway.reload(renamed)
            try belongings.expectRefused(gateway, "session.unknown", refresh: 400)
        }
    }

    @Test("a user who was removed and comes back with another password finds no former session")
    func replacement() throws {
        try self.with { gateway, settings in
            let cookie = ["Cookie: sallyport=\(try gateway.browser())"]
            try gateway.reload(settings.replacing("id: user-1815", with: "id: user-1816"))
            let other = settings.replacing("JK3x34E88OjnlWzoh", with: "KK3x34E88OjnlWzoh")
            try gateway.reload(other)
            #expect(try gateway.get("/", cookie).reason == "session.unknown")
        }
    }
}
