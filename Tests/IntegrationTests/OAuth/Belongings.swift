import Foundation
import GatewayBench
import Testing

/// Everything that a user and the client `app` have of a gateway together.
struct Belongings {
    let cookie: String
    let native: String
    let transfer: String
    let code: String
    let access: String
    let refresh: String

    init(_ gateway: Gateway) throws {
        self.cookie = try gateway.browser()
        self.native = try gateway.native()
        self.transfer = try gateway.mint(self.native, client: "app")
        let redeemed = try Self.redeem(try Self.code(gateway, self.cookie), gateway)
        self.access = try Self.match(redeemed.text, /(spa_[A-Za-z0-9_-]+)/)
        self.refresh = try Self.match(redeemed.text, /(spr_[A-Za-z0-9_-]+)/)
        self.code = try Self.code(gateway, self.cookie)
    }

    /// A stream of the app that began with the credential in `field`.
    static func stream(_ gateway: Gateway, _ field: String) throws -> Wire {
        let wire = try gateway.connect()
        wire.send(Request.get("/stream", [field]))
        #expect(wire.receive(through: "data: 1") != nil)
        return wire
    }

    /// Expects that all of it that is the client's is refused.
    ///
    /// - Parameters:
    ///   - error: What the token endpoint says of the code.
    ///   - refresh: The status of a refresh.
    func expectTokensRefused(_ gateway: Gateway, _ error: String, refresh: Int) throws {
        let user = try gateway.get("/userinfo", ["Authorization: Bearer \(self.access)"])
        #expect(user.status == 401 && user.text.contains("\"invalid_token\""), "\(user.text)")
        for token in [self.access, self.refresh] { #expect(try !self.isActive(token, gateway)) }
        let code = try Self.redeem(self.code, gateway)
        #expect(code.status == 400 && code.text.contains("\"\(error)\""), "\(code.text)")
        let refreshed = try self.refreshed(gateway)
        #expect(refreshed.status == refresh && refreshed.text.contains("\"\(error)\""), "\(refreshed.text)")
        let handoff = try gateway.get("/?session_transfer_token=\(self.transfer)")
        #expect(handoff.value("set-cookie")?.contains("sps_") != true && handoff.status != 200, "\(handoff.lines)")
    }

    /// Whether a resource server takes the token.
    func isActive(_ token: String, _ gateway: Gateway) throws -> Bool {
        let form = "token=\(token)&client_id=server&client_secret=a+secret+of+the+tests"
        let answer = try Self.post(form, path: "/oauth/introspect", to: gateway)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.text.contains("\"active\":true")
    }

    func refreshed(_ gateway: Gateway) throws -> Answer {
        try Self.post("grant_type=refresh_token&client_id=app&refresh_token=\(self.refresh)", to: gateway)
    }

    static let authorize =
        "/authorize?client_id=app&response_type=code&scope=openid+offline_access+orders&code_challenge_method=S256"
        + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&audience=https://api.example.com"

    private static func code(_ gateway: Gateway, _ cookie: String) throws -> String {
        let back = try gateway.get(Self.authorize, ["Cookie: sallyport=\(cookie)"])
        return try Self.match(back.value("location") ?? "\(back.lines)", /[?&]code=([A-Za-z0-9_-]+)/)
    }

    private static func redeem(_ code: String, _ gateway: Gateway) throws -> Answer {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let form = "grant_type=authorization_code&client_id=app&code=\(code)&code_verifier=\(verifier)"
        return try Self.post(form, to: gateway)
    }

    static func post(_ form: String, path: String = "/oauth/token", to gateway: Gateway) throws -> Answer {
        let head = [
            "POST \(path) HTTP/1.1", "Host: \(Request.host)", "Content-Type: application/x-www-form-urlencoded",
            "Content-Length: \(form.utf8.count)",
        ]
        return try gateway.request(head.joined(separator: "\r\n") + "\r\n\r\n" + form)
    }

    private static func match(_ text: String, _ expression: Regex<(Substring, Substring)>) throws -> String {
        String(try #require(text.firstMatch(of: expression), "\(text)").1)
    }
}

extension Belongings {
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

    /// A gateway with operators, its settings, and an app that streams without end.
    static func withGateway(_ body: (Gateway, String) throws -> Void) throws {
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
}

extension Wire {
    /// Expects that the gateway ends the stream.
    func expectEnd() {
        guard case .silence = self.receiveAll(seconds: 10).last else { return }
        Issue.record("a stream stays open")
    }
}
