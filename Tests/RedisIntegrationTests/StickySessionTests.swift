import Foundation
import GatewayBench
import RedisServers
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Two gateways with one Redis before three servers of an app, each PHP's own.
@Suite("Sessions that stay with their servers", .blocking) struct StickySessionTests {
    private static let secret = "the-secret-of-both-gateways-that-is-long-enough"

    private static func start(_ port: Int, in folder: URL) throws -> Servers.Running {
        guard let php = Servers.find(["/usr/bin/php"]) else { try Servers.missing("php-cli") }
        return try Servers.Running(php, ["-S", "127.0.0.1:\(port)", "page.php"], in: folder, port: port)
    }

    private static func gateway(_ ports: [Int], _ redis: RedisServer) throws -> Gateway {
        let servers = ports.map { "http://127.0.0.1:\($0)" }.joined(separator: ", ")
        return try Gateway(
            Config.file(
                upstream: 1,
                routes: "  - {path: /**, upstream: app}",
                more: "secret_file: secret\nupstreams: {app: {servers: [\(servers)], balance: sticky}}\n"
            ),
            files: ["secret": Self.secret + "\n"],
            environment: ["SALLYPORT_REDIS_URL": RedisURLs.standalone(redis.port)]
        )
    }

    @Test("A session has one server on every gateway: one that is killed loses its sessions only, and has them again")
    func leavesAndReturns() async throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try "<?php echo $_SERVER['SERVER_PORT'];".write(
            to: folder.appending(path: "page.php"),
            atomically: true,
            encoding: .utf8
        )
        let ports = try (0..<3).map { _ in try ServerPorts.take() }
        let servers = try ports.map { try Self.start($0, in: folder) }
        defer { for server in servers { server.stop() } }
        let redis = try RedisServer()
        defer { redis.remove() }
        try await redis.start()
        let gateways = try (0..<2).map { _ in try Self.gateway(ports, redis) }
        defer { for gateway in gateways { gateway.stop() } }

        // Made on either gateway, and known to both.
        let sessions = try (0..<12).map { index in
            try gateways[index % 2].browser(index.isMultiple(of: 3) ? .grace : .ada, from: "127.0.0.\(index + 2)")
        }
        func homes(_ gateway: Gateway) throws -> [Int] {
            try sessions.map { session in
                let answer = try gateway.get("/", ["Cookie: sallyport=\(session)"])
                guard answer.status == 200, let port = Int(answer.text) else {
                    throw BenchFailure("\(answer.lines) \(answer.text)")
                }
                return port
            }
        }
        let before = try homes(gateways[0])
        #expect(try homes(gateways[1]) == before)
        #expect(Set(before).count > 1, "\(before)")

        let gone = try #require(ports.firstIndex(of: before[0]))
        servers[gone].signal(SIGKILL)
        #expect(eventually { (try? Wire(to: ports[gone])) == nil })
        let without = try homes(gateways[0])
        #expect(try homes(gateways[1]) == without)
        for (home, other) in zip(before, without) {
            #expect(home == ports[gone] ? other != home : other == home)
        }

        let back = try Self.start(ports[gone], in: folder)
        defer { back.stop() }
        for gateway in gateways { #expect(eventually { (try? homes(gateway)) == before }) }
    }
}
