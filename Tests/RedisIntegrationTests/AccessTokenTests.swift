import Foundation
import GatewayBench
import OpenIDBench
import RedisServers
import Testing
import Vocabulary

/// Access tokens of a provider at two gateways that share one Redis.
@Suite("Access tokens at two gateways", .blocking) struct AccessTokenTests {
    private struct Bench {
        let provider: OpenIDProvider
        let gateways: [Gateway]

        func status(_ index: Int, _ token: String) throws -> Int {
            try self.gateways[index].get("/", ["Authorization: Bearer \(token)"]).status
        }

        func reason(_ index: Int, _ token: String) -> String? {
            try? self.gateways[index].get("/", ["Authorization: Bearer \(token)"]).reason
        }

        func signOut(_ index: Int, _ token: String) throws -> Int {
            let fields = ["Authorization: Bearer \(token)"]
            return try self.gateways[index].request(Request.post("/.sallyport/logout", fields, body: "")).status
        }
    }

    private func with(_ server: RedisServer, _ body: (Bench) throws -> Void) throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            event_loops: 2
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            secret_file: secret
            routes:
              - path: /**
            provider:
              oidc:
                issuer: \(provider.issuer)
                client_id: gateway
                client_secret_file: client-secret
                audiences: [api]
                introspection: {}
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = [
            "client-secret": OpenIDScript().clients[0].secret ?? "",
            "secret": "a secret of two gateways, long enough\n",
        ]
        let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
        let first = try Gateway(settings, files: files, environment: environment)
        defer { first.stop() }
        let second = try Gateway(settings, files: files, environment: environment)
        defer { second.stop() }
        for gateway in [first, second] {
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
        }
        try body(Bench(provider: provider, gateways: [first, second]))
    }

    @Test("A token that was signed out at one gateway is refused at both within a second, seen there before or not")
    func signOut() async throws {
        try await RedisServer.with { server in
            try self.with(server) { (bench) throws in
                let tokens = [
                    bench.provider.accessToken { $0["jti"] = "one" }, bench.provider.accessToken { $0["jti"] = "two" },
                    bench.provider.opaqueAccessToken(), bench.provider.opaqueAccessToken(),
                ]
                for (number, token) in tokens.enumerated() {
                    #expect(try patiently { try bench.status(0, token) } == 200)
                    let isSeen = number % 2 == 0
                    if isSeen { #expect(try patiently { try bench.status(1, token) } == 200) }
                    #expect(try patiently { try bench.signOut(0, token) } == 204)
                    #expect(bench.reason(0, token) == "session.unknown")
                    #expect(eventually(within: 3) { bench.reason(1, token) == "session.unknown" })
                }
            }
        }
    }

    @Test(
        "A logout token of the provider ends the tokens with its sid or sub at both gateways, also those not seen yet"
    )
    func providerLogout() async throws {
        try await RedisServer.with { server in
            try self.with(server) { (bench) throws in
                for (sid, subject) in [("sid-1", nil), (nil, "user-7")] as [(String?, String?)] {
                    func token(_ id: String, issued seconds: Int64 = 0) -> String {
                        bench.provider.accessToken(for: subject ?? "user-1") { claims in
                            claims["jti"] = .string(id)
                            claims["sid"] = sid.map { .string($0) }
                            claims["iat"] = .integer(Int64(Date.now.timeIntervalSince1970) + seconds)
                        }
                    }
                    let (seen, unseen) = (token("seen"), token("unseen"))
                    for gateway in 0...1 { #expect(try patiently { try bench.status(gateway, seen) } == 200) }
                    let logout = bench.provider.logoutToken(sessionID: sid, subject: subject)
                    let fields = ["Content-Type: application/x-www-form-urlencoded"]
                    let request = Request.post(
                        "/.sallyport/backchannel-logout",
                        fields,
                        body: "logout_token=\(logout)"
                    )
                    let answer = try bench.gateways[0].request(request)
                    #expect(answer.status == 200, "\(answer.lines) \(answer.text)")
                    #expect(bench.reason(0, seen) == "session.unknown")
                    #expect(eventually(within: 3) { bench.reason(1, seen) == "session.unknown" })
                    for gateway in 0...1 { #expect(bench.reason(gateway, unseen) == "session.unknown") }
                    // The user signs in again, and the provider uses the same sid.
                    let later = token("later", issued: 30)
                    for gateway in 0...1 { #expect(try patiently { try bench.status(gateway, later) } == 200) }
                }
            }
        }
    }

    @Test("The second gateway uses the first one's verdict on an opaque token; without Redis a new token is 503")
    func sharedVerdict() async throws {
        try await RedisServer.with { server in
            try self.with(server) { (bench) throws in
                let token = bench.provider.opaqueAccessToken()
                for gateway in [0, 1, 0, 1] { #expect(try patiently { try bench.status(gateway, token) } == 200) }
                #expect(bench.provider.count(.introspection) == 1)
                server.kill()
                let signed = bench.provider.accessToken()
                #expect(eventually { bench.reason(0, signed) == "store.unavailable" })
                #expect(bench.provider.count(.introspection) == 1)
            }
        }
    }
}
