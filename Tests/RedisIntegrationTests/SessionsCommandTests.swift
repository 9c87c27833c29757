import Foundation
import GatewayBench
import RedisServers
import Synchronization
import TestSupport
import Testing

/// `sallyport sessions` where sessions are in Redis, while users go on signing in.
@Suite("The command sessions with Redis", .blocking, .serialized) struct SessionsCommandTests {
    private static let token = "operator-token-of-tests-that-may-read-and-end"
    /// Its SHA-256, and what it may do.
    private static let tokens = """
        ops read,sessions 3e37e8efabdeb16fbbb27fec02755348739db332a284a9741a3d8a2c5a0cc71c

        """

    private struct Bench {
        let gateway: Gateway

        /// Runs the command.
        func run(_ words: String...) throws -> (status: Int32, output: String) {
            let all = ["sessions"] + words + ["--token-file", "-", "--admin", "127.0.0.1:\(self.gateway.adminPort)"]
            return try Servers.run(Gateway.binary.path, all, input: Array("\(SessionsCommandTests.token)\n".utf8))
        }

        /// The handles of a list, in its order, and what else it says.
        func list(_ words: String...) throws -> (handles: [String], rest: [String]) {
            let all = ["list"] + words + ["--token-file", "-", "--admin", "127.0.0.1:\(self.gateway.adminPort)"]
            let input = Array("\(SessionsCommandTests.token)\n".utf8)
            let answer = try patiently {
                let answer = try Servers.run(Gateway.binary.path, ["sessions"] + all, input: input)
                guard answer.status == 0 else { throw BenchFailure(answer.output) }
                return answer
            }
            let lines = answer.output.split(separator: "\n").map(String.init)
            let sessions = lines.filter { $0.contains(" since 20") }
            let handles = sessions.compactMap { $0.split(separator: " ").first.map(String.init) }
            return (handles, lines.filter { !sessions.contains($0) })
        }

        /// Signs a user in from an address of its own, because sign-ins of one are limited.
        func signIn(_ number: Int, _ user: User = .ada) throws -> String {
            try patiently { try self.gateway.native(user, from: "127.9.\(number % 250).\(number / 250 + 1)") }
        }

        func isLive(_ token: String) throws -> Bool {
            try patiently {
                let status = try self.gateway.get("/sessions/whoami", ["X-Session-Token: \(token)"]).status
                guard [200, 401].contains(status) else { throw BenchFailure("\(status)") }
                return status == 200
            }
        }
    }

    private static func with(_ url: String, _ body: (Bench) async throws -> Void) async throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            admin: "127.0.0.1:0\n  tokens_file: operator-tokens",
            more: "secret_file: secret"
        )
        let files = ["operator-tokens": self.tokens, "secret": "a-secret-of-the-tests-that-is-long-enough\n"]
        let gateway = try Gateway(settings, files: files, environment: ["SALLYPORT_REDIS_URL": url])
        defer { gateway.stop() }
        try await waitUntil("the gateway is ready") { try gateway.admin("/readyz").status == 200 }
        try await body(Bench(gateway: gateway))
    }

    @Test("In a cluster all sessions are listed once, the latest first, and ended, whatever begins meanwhile")
    func cluster() async throws {
        try await RedisCluster.with { cluster in
            try await Self.with(RedisURLs.cluster(cluster)) { bench in
                let count = 230
                var tokens = try (0..<count).map { try bench.signIn($0) }
                let grace = try bench.signIn(count, .grace)
                try await waitUntil("all are noted") { try bench.list("--all").handles.count == count + 1 }
                let all = try bench.list("--all").handles
                try #require(Set(all).count == count + 1)
                let shown = try bench.list()
                #expect(shown.handles == Array(all.prefix(100)) && shown.rest == ["there are more; --all shows them"])
                #expect(try bench.list("--email", "grace@example.com").handles == [all[0]])
                #expect(try bench.list("--email", "ada@example.com", "--all").handles == Array(all.dropFirst()))

                // Users go on signing in while the list is read page by page.
                let later = Mutex<[String]>([])
                let (stop, stopped) = (Flag(), Flag())
                Thread.detachNewThread {
                    var number = count + 1
                    while stop.count == 0 {
                        if let token = try? bench.signIn(number) { later.withLock { $0.append(token) } }
                        number += 1
                    }
                    stopped.raise()
                }
                for _ in 0..<5 {
                    let listed = try bench.list("--all").handles
                    #expect(Set(listed).count == listed.count && Set(listed).isSuperset(of: all))
                }
                let before = later.withLock { $0 }
                let ended = try bench.run("end", "--email", "ada@example.com")
                #expect(ended.status == 0 && ended.output.hasPrefix("signed out 1 user of "), "\(ended.output)")
                stop.raise()
                try await waitUntil("nobody signs in any more") { stopped.count > 0 }
                tokens += before
                for token in tokens { #expect(try !bench.isLive(token)) }
                #expect(try bench.isLive(grace))

                let living = try later.withLock { $0 }.filter(bench.isLive)
                try await waitUntil("the last ones are noted") {
                    try bench.list("--all").handles.count == living.count + 1
                }
                #expect(try bench.run("end", "--all").status == 0)
                #expect(try !bench.isLive(grace))
                for token in living { #expect(try !bench.isLive(token)) }
                #expect(try bench.list("--all").handles.isEmpty)
                #expect(try bench.run("end", "--all").output == "nobody is signed in\n")
            }
        }
    }
}
