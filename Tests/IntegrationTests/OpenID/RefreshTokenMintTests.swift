import GatewayBench
import OpenIDBench
import Testing

/// A native app goes to the browser with the provider's own refresh token, through the built binary.
@Suite("Mint by the provider's refresh token", .blocking) struct RefreshTokenMintTests {
    private static let introspection = "audiences: [api]\nintrospection: {refresh_token_clients: [native-app]}"
    private static let routes = """
        clients:
          - client_id: app
            session_transfer: {can_create_session_transfer_token: true}
          - client_id: web
            session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
        routes:
          - {path: /**, client: web}
        """

    private func mint(_ token: String, _ bench: OpenIDSignInBench) throws -> Answer {
        let body =
            "grant_type=refresh_token&client_id=app&refresh_token=\(token)"
            + "&audience=urn:\(Request.host):session_transfer"
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try bench.gateway.request(Request.post("/oauth/token", [type], body: body))
    }

    @Test("The provider proves it without seeing it used, and the browser is signed in, again and again")
    func mints() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection, routes: Self.routes) { (bench) throws in
            let token = bench.provider.refreshToken()
            for _ in 0..<2 {
                let minted = try self.mint(token, bench)
                #expect(minted.status == 200 && minted.text.contains(#""token_type":"N_A""#), "\(minted.text)")
                #expect(minted.text.contains(#""id_token":"ey"#) && !minted.text.contains("refresh_token"))
                let transfer = String(try #require(minted.text.firstMatch(of: /spt_[A-Za-z0-9_-]+/)).0)
                let arrived = try bench.gateway.get("/hello?session_transfer_token=\(transfer)")
                let cookie = try #require(arrived.sessionCookie, "\(arrived.lines)")
                #expect(try bench.gateway.get("/hello", ["Cookie: sallyport=\(cookie)"]).status == 200)
                let received = try #require(bench.app.requests.last).lines
                #expect(received.contains("X-Auth-Subject: user-1"), "\(received)")
                #expect(received.contains("X-Auth-Email: ada@example.com"), "\(received)")
            }
            #expect(bench.provider.count(.introspection) == 1 && bench.provider.count(.token) == 0)
            let series = #"sallyport_tokens_total{act="refresh_token",result="ok"}"#
            #expect(try bench.gateway.metric(series) == 2)
        }
    }

    @Test("Another client's token, an access token and a revoked one are invalid_grant; it is no access token either")
    func refused() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection, routes: Self.routes) { (bench) throws in
            let revoked = bench.provider.refreshToken()
            bench.provider.endGrants()
            for token in [
                bench.provider.refreshToken(of: "web-app"), bench.provider.opaqueAccessToken(), revoked, "never-issued",
            ] {
                let answer = try self.mint(token, bench)
                #expect(answer.status == 400 && answer.text.contains("invalid_grant"), "\(answer.text)")
                #expect(answer.text.contains("Unknown or invalid refresh token."), "\(answer.text)")
            }
            let token = bench.provider.refreshToken()
            #expect(try self.mint(token, bench).status == 200)
            let bearer = try bench.gateway.get("/", ["Authorization: Bearer \(token)"])
            #expect(bearer.status == 401 && bearer.reason == "credential.invalid_token", "\(bearer.lines)")
        }
    }

    @Test("While introspection fails, a mint is 503 and blames no token")
    func introspectionFails() throws {
        try OpenIDSignInBench.with(OpenIDScript(), Self.introspection, routes: Self.routes) { (bench) throws in
            let token = bench.provider.refreshToken()
            bench.provider.fail(.introspection, with: .answer(status: 500), .answer(status: 500))
            let answer = try self.mint(token, bench)
            #expect(answer.status == 503 && answer.text.contains("temporarily_unavailable"), "\(answer.text)")
            #expect(answer.value("retry-after") != nil)
            bench.provider.heal(.introspection)
            #expect(try self.mint(token, bench).status == 200)
        }
    }

    @Test("Without the key it is invalid_grant, and the provider is not asked")
    func notConfigured() throws {
        let introspection = "audiences: [api]\nintrospection: {}"
        try OpenIDSignInBench.with(OpenIDScript(), introspection, routes: Self.routes) { (bench) throws in
            let answer = try self.mint(bench.provider.refreshToken(), bench)
            #expect(answer.status == 400 && answer.text.contains("invalid_grant"), "\(answer.text)")
            #expect(bench.provider.count(.introspection) == 0)
        }
    }
}
