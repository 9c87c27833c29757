import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// A block at one of two gateways that share a Redis.
@Suite("Blocked users of two gateways", .blocking, .serialized) struct SharedBlockTests {
    private static let token = "operator-token-of-tests-that-may-read-and-end"
    private static let files = [
        "secret": "a secret of two gateways, long enough\n",
        // The SHA-256 of the token.
        "tokens": "ops read,sessions 3e37e8efabdeb16fbbb27fec02755348739db332a284a9741a3d8a2c5a0cc71c\n",
    ]

    private struct Pair {
        let app: FakeUpstream
        let gateways: [Gateway]

        /// The status of a block (`PUT`) or of its end (`DELETE`).
        func operate(_ method: String, at index: Int) throws -> Int {
            let head = [
                "\(method) /subjects/\(User.ada.id)/block HTTP/1.1", "Host: admin", "Connection: close",
                "Authorization: Bearer \(SharedBlockTests.token)", "Content-Length: 0",
            ]
            let wire = try Wire(to: self.gateways[index].adminPort)
            return try wire.request(head.joined(separator: "\r\n") + "\r\n\r\n").status
        }

        /// The status of Ada's sign-in.
        func signIn(at index: Int) throws -> Int {
            let fields = ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"]
            let body = "identifier=\(User.ada.identifier)&password=\(User.ada.password)&return_to=/"
            return try self.gateways[index].request(Request.post("/.sallyport/login", fields, body: body)).status
        }

        /// Whether Ada is refused sooner or later, and never signed in before.
        func refuses(at index: Int) -> Bool {
            var hasSignedIn = false
            let isRefused = eventually(within: 20) {
                let status = (try? self.signIn(at: index)) ?? 503
                hasSignedIn = hasSignedIn || status == 303
                return status == 403
            }
            return isRefused && !hasSignedIn
        }

        func waitUntilReady() async throws {
            for (index, gateway) in self.gateways.enumerated() {
                try await waitUntil("gateway \(index) is ready") { try gateway.admin("/readyz").status == 200 }
            }
        }
    }

    private static func with(_ url: String, _ body: (Pair) async throws -> Void) async throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, more: "secret_file: secret\n").replacing(
            "admin:\n  listen: 127.0.0.1:0\n",
            with: "admin: {listen: \"127.0.0.1:0\", tokens_file: tokens}\n"
        )
        let gateways = try (0..<2).map { _ in
            try Gateway(settings, files: self.files, environment: ["SALLYPORT_REDIS_URL": url])
        }
        defer { for gateway in gateways { gateway.stop() } }
        let pair = Pair(app: app, gateways: gateways)
        try await pair.waitUntilReady()
        try await body(pair)
    }

    @Test("A block at one gateway applies at the other at once, to sessions within a second, and so does its end")
    func followed() async throws {
        try await RedisServer.with { server in
            try await Self.with(RedisURLs.standalone(server.port)) { pair in
                let cookie = ["Cookie: sallyport=\(try patiently { try pair.gateways[1].browser() })"]
                #expect(eventually { (try? pair.gateways[1].get("/", cookie).status) == 200 })
                #expect(try patiently { try pair.operate("PUT", at: 0) } == 200)
                for index in 0..<2 { #expect(try patiently { try pair.signIn(at: index) } == 403) }
                #expect(eventually(within: 3) { (try? pair.gateways[1].get("/", cookie).status) == 401 })
                let keys = try server.keys("sp:c:*")
                #expect(!keys.isEmpty && keys.allSatisfy { !$0.contains(User.ada.id) })
                #expect(try patiently { try pair.operate("DELETE", at: 1) } == 204)
                for index in 0..<2 { #expect(try patiently { try pair.signIn(at: index) } == 303) }
                #expect(try pair.gateways[1].get("/", cookie).status == 401)
            }
        }
    }

    @Test("A restart from an old snapshot lets no blocked user in, and the block is written again")
    func oldSnapshot() async throws {
        try await RedisServer.with(["--dbfilename", "dump.rdb"]) { server in
            try await Self.with(RedisURLs.standalone(server.port)) { pair in
                try server.command("SAVE")
                #expect(try patiently { try pair.operate("PUT", at: 0) } == 200)
                #expect(try server.keys("sp:c:{blocks}*").count > 0)
                server.kill()
                try await server.start()
                // The gateway that wrote the block knows it, whatever Redis says.
                #expect(pair.refuses(at: 0))
                #expect(eventually { (try? server.keys("sp:c:{blocks}*").isEmpty) == false })
                #expect(eventually { (try? pair.signIn(at: 1)) == 403 })
                #expect(try patiently { try pair.operate("DELETE", at: 1) } == 204)
                for index in 0..<2 { #expect(eventually { (try? pair.signIn(at: index)) == 303 }) }
            }
        }
    }

    @Test("A block survives the failover to a replica that lacks it")
    func failover() async throws {
        try await RedisSentinelGroup.with(proxied: true) { group in
            try await Self.with(RedisURLs.sentinels(group)) { pair in
                let old = try group.primary()
                let replicas = group.nodes.filter { $0 !== old }
                // This replica reads nothing, and what is sent to it from now on is lost with its link.
                replicas[0].pause()
                try await group.proxy(of: old)?.set(.refused, from: RedisSentinelGroup.backbone)
                try await group.proxy(of: old)?.set(.none, from: RedisSentinelGroup.backbone)
                try await waitUntil("one replica in step") {
                    try old.info("slave0")?.contains("state=online") == true
                }
                #expect(try patiently { try pair.operate("PUT", at: 0) } == 200)
                old.kill()
                replicas[1].kill()
                replicas[0].resume()
                _ = try await group.waitForPrimary(otherThan: old)
                // Without a second server, no write is confirmed, and no sign-in can succeed in any case.
                try await replicas[1].start()
                try await old.start()
                try await group.waitUntilComplete()
                #expect(pair.refuses(at: 0))
                #expect(eventually(within: 20) { (try? pair.signIn(at: 1)) == 403 })
                try await pair.waitUntilReady()
            }
        }
    }
}
