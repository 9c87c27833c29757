import Foundation
import GatewayBench
import RedisServers
import Synchronization
import Testing
import Vocabulary

/// Codes and refresh tokens at two gateways that share one Redis.
@Suite("The authorization server at two gateways", .blocking) struct AuthorizationServerTests {
    private struct World: Sendable {
        let gateways: [Gateway]

        func form(_ index: Int, _ path: String, _ parameters: String...) throws -> Answer {
            let fields = ["Content-Type: application/x-www-form-urlencoded"]
            let body = parameters.joined(separator: "&")
            return try self.gateways[index].request(Request.post(path, fields, body: body))
        }

        func code(_ index: Int) throws -> String {
            let query =
                "client_id=app&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let cookie = "Cookie: sallyport=\(try self.gateways[index].browser())"
            let answer = try self.gateways[index].get("/authorize?" + query, [cookie])
            return try Self.match(answer.lines.joined(), /[?&]code=([A-Za-z0-9_-]+)/)
        }

        func redeem(_ index: Int, _ code: String) throws -> Answer {
            try self.form(
                index,
                "/oauth/token",
                "grant_type=authorization_code&client_id=app&code=\(code)",
                "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            )
        }

        func refresh(_ index: Int, _ token: String) throws -> Answer {
            try self.form(index, "/oauth/token", "grant_type=refresh_token&client_id=app&refresh_token=\(token)")
        }

        func status(_ index: Int, _ token: String) throws -> Int {
            try self.gateways[index].get("/orders/", ["Authorization: Bearer \(token)"]).status
        }

        static func match(_ text: String, _ pattern: Regex<(Substring, Substring)>) throws -> String {
            guard let found = text.firstMatch(of: pattern) else { throw BenchFailure(text) }
            return String(found.1)
        }

        static func access(_ answer: Answer) throws -> String { try self.match(answer.text, /(spa_[A-Za-z0-9_-]+)/) }
        static func refresh(_ answer: Answer) throws -> String { try self.match(answer.text, /(spr_[A-Za-z0-9_-]+)/) }

        /// The answers to one request sent by 16 threads to both gateways.
        func together(_ send: @escaping @Sendable (Int) throws -> Answer) -> [Answer] {
            let answers = Mutex<[Answer]>([])
            DispatchQueue.concurrentPerform(iterations: 16) { index in
                guard let answer = try? send(index % 2) else { return }
                answers.withLock { $0.append(answer) }
            }
            return answers.withLock { $0 }
        }
    }

    private func with(_ server: RedisServer, _ body: (World) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings =
            Config.file(
                upstream: app.port,
                routes: "  - {path: /**}\n  - {path: /orders/**, name: orders}",
                clients: "  - {client_id: app, callbacks: [\"myapp://auth/callback\"]}",
                more: """
                    secret_file: secret
                    apis: [{audience: "https://api.example.com", scopes: [read], routes: [orders]}]
                    """
            )
        let files = ["secret": "a secret of two gateways, long enough\n"]
        let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
        let first = try Gateway(settings, files: files, environment: environment)
        defer { first.stop() }
        let second = try Gateway(settings, files: files, environment: environment)
        defer { second.stop() }
        for gateway in [first, second] {
            #expect(eventually(within: 10) { (try? gateway.admin("/readyz").status) == 200 })
        }
        try body(World(gateways: [first, second]))
        for gateway in [first, second] {
            #expect(!gateway.output.contains("spr_") && !gateway.output.contains("spc_"))
        }
    }

    @Test("A code gives tokens once at both gateways together, and its replay ends them")
    func code() async throws {
        try await RedisServer.with { server in
            try self.with(server) { (world) throws in
                let code = try world.code(0)
                let answers = world.together { try world.redeem($0, code) }
                #expect(answers.count { $0.status == 200 } == 1)
                #expect(answers.count { $0.status == 400 } == answers.count - 1)
                let tokens = try #require(answers.first { $0.status == 200 })
                #expect(tokens.text.contains("id_token"))
                let access = try World.access(tokens)
                #expect(eventually(within: 2) { (try? world.status(1, access)) == 401 })
                #expect(try world.refresh(1, try World.refresh(tokens)).status == 400)
            }
        }
    }

    @Test("Parallel refreshes of one token at both gateways give one successor; a replay ends the family at both")
    func refresh() async throws {
        try await RedisServer.with { server in
            try self.with(server) { (world) throws in
                let first = try world.redeem(0, try world.code(0))
                let token = try World.refresh(first)
                let answers = world.together { try world.refresh($0, token) }
                #expect(answers.count == 16)
                #expect(answers.allSatisfy { $0.status == 200 })
                #expect(Set(try answers.map(World.refresh)).count == 1)
                let next = try world.refresh(1, try World.refresh(answers[0]))
                let access = try World.access(next)
                #expect(try world.status(0, access) == 200)
                #expect(try world.status(1, access) == 200)
                #expect(try world.refresh(0, token).reason == nil)
                #expect(eventually(within: 2) { (try? world.status(1, access)) == 401 })
                #expect(try world.refresh(1, try World.refresh(next)).status == 400)
            }
        }
    }

    @Test("Redis hangs between refreshes: the family survives, and clients get 503 meanwhile")
    func outage() async throws {
        try await RedisServer.with { server in
            try self.with(server) { (world) throws in
                let first = try world.redeem(0, try world.code(0))
                let token = try World.refresh(first)
                server.pause()
                let failed = try world.refresh(0, token)
                #expect(failed.status == 503)
                #expect(failed.text.contains("temporarily_unavailable"))
                server.resume()
                #expect(eventually(within: 10) { (try? world.refresh(1, token).status) == 200 })
            }
        }
    }
}
