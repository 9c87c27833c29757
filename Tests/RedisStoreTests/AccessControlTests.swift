import Cryptography
import Foundation
import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// The documented Redis user, `deploy/redis/users.acl`, with a real server.
@Suite struct AccessControlTests {
    private static let password = "password of the tests"

    /// Runs `body` with a server that has this user, and a second one with all rights for the test itself.
    private static func withServer(
        _ arguments: [String] = [],
        _ body: (RedisServer, RedisConfiguration) async throws -> Void
    ) async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let digest = SHA256.digest(Array(Self.password.utf8)).bytes.map {
            String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
        }.joined()
        let acl = try String(contentsOf: root.appending(path: "deploy/redis/users.acl"), encoding: .utf8)
            .replacing("PASSWORD_SHA256", with: digest)
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-users-\(UUID()).acl")
        try Data((acl + "user test on nopass ~* &* +@all\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await RedisServer.with(["--aclfile", file.path] + arguments) { server in
            var configuration = server.configuration()
            configuration.user = "sallyport"
            configuration.password = Secret(Self.password)
            try await body(server, configuration)
        }
    }

    private static func admin(of server: RedisServer) -> RedisConfiguration {
        var configuration = server.configuration()
        configuration.user = "test"
        configuration.password = Secret("any")
        return configuration
    }

    @Test("The store conforms with exactly these rights", arguments: StoreConformance.cases)
    func suffices(_ behaviour: StoreConformance) async throws {
        try await Self.withServer { server, configuration in
            try await withClient(Self.admin(of: server)) { admin in
                try await withClient(configuration) { client in
                    let bench = ConformanceBench(group: loops, pass: { try await admin.age(by: $0) }) { _, clock in
                        _ = try await admin.ask("FLUSHALL")
                        return RedisStore(
                            client: client,
                            ring: RedisStoreBench.ring,
                            clock: clock.clock,
                            caches: SessionCaches()
                        )
                    }
                    try await behaviour.run(bench)
                }
            }
        }
    }

    @Test("Each needed command is allowed, and other commands are refused")
    func isExact() async throws {
        try await Self.withServer { _, configuration in
            try await withClient(configuration) { client in
                for command in RedisNeeds.commands().map(\.trial)
                    + RedisNeeds.keys().flatMap({ [$0.read, $0.write] })
                {
                    let reply = try await client.send(command, on: loops.next()).get()
                    #expect(!reply.isRefused, "\(command.name)")
                }
                let refused: [RedisCommand] = [
                    RedisCommand("FLUSHALL"), RedisCommand("FLUSHDB"), RedisCommand("CONFIG", "GET", "*"),
                    RedisCommand("KEYS", "*"), RedisCommand("SCAN", "0"), RedisCommand("MONITOR"),
                    RedisCommand("ACL", "LIST"), RedisCommand("SHUTDOWN"),
                    RedisCommand("CLIENT", "LIST"), RedisCommand("SCRIPT", "FLUSH"), RedisCommand("GET", "other"),
                    RedisCommand("EVAL", "return redis.call('KEYS', '*')", "0"), RedisCommand("PUBLISH", "x", "y"),
                ]
                for command in refused {
                    let reply = try await client.send(command, on: loops.next()).get()
                    #expect(reply.isRefused, "\(command.name)")
                }
            }
        }
    }

    /// Redis replays its append-only file as the user `default`, and drops what that user may not do (redis#14541).
    @Test("The writes of scripts survive a restart of a Redis with these users")
    func outlivesRestart() async throws {
        try await Self.withServer(["--appendonly", "yes"]) { server, configuration in
            let session = try await withClient(configuration) { try await RedisStoreBench($0).signIn() }
            server.kill()
            try await server.start()
            try await withClient(configuration) { client in
                let kept = try await RedisStoreBench(client).session(session.key)
                #expect(kept?.subject == "alice")
            }
        }
    }

    /// `suffices` shows that these rights are enough for everything that the store sends, so the list that readiness and
    /// `check --network` try has everything, too.
    @Test("The list of needed commands is the list of documented rights")
    func listsTheDocumentedRights() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let acl = try String(contentsOf: root.appending(path: "deploy/redis/users.acl"), encoding: .utf8)
        let line = try #require(acl.split(separator: "\n").first { $0.hasPrefix("user sallyport ") })
        let granted = Set(line.split(separator: " ").filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) })
        let tried = RedisNeeds.commands() + RedisNeeds.clusterOnly + RedisNeeds.databaseOnly + [RedisNeeds.subscription]
        #expect(Set(tried.map(\.name)) == granted)
    }

    @Test("Every command that the module's sources name is in the list of needed commands")
    func knowsItsSources() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/RedisStore")
        // Sentinels have users of their own, and Redis asks for no right to sign in or to ask for a sign of life in a
        // subscription.
        let exempt: Set = ["auth", "sentinel", "ping"]
        let tried = RedisNeeds.commands() + RedisNeeds.clusterOnly + RedisNeeds.databaseOnly + [RedisNeeds.subscription]
        let known = Set(tried.map { String($0.name.prefix { $0 != "|" }) })
        var named: Set<String> = []
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            named.formUnion(text.matches(of: /RedisCommand\("([A-Z]+)"/).map { $0.1.lowercased() })
            named.formUnion(text.matches(of: /redis\.p?call\('([A-Z]+)'/).map { $0.1.lowercased() })
        }
        #expect(named.isSuperset(of: ["mget", "evalsha", "time", "wait"]))
        #expect(named.subtracting(exempt).isSubset(of: known), "\(named.subtracting(exempt).subtracting(known))")
    }

    @Test("Every command that a script calls is in the list of needed commands")
    func knowsItsScripts() {
        let known = Set(RedisNeeds.commands().map(\.name))
        var called: Set<String> = []
        for script in Scripts.all {
            called.formUnion(script.text.matches(of: /redis\.p?call\('([A-Z]+)'/).map { $0.1.lowercased() })
        }
        #expect(called.contains("set") && called.isSubset(of: known), "\(called.subtracting(known))")
    }
}

extension RedisReply {
    /// `NOPERM`, or the text of a script for it.
    fileprivate var isRefused: Bool {
        guard case .error(let error) = self else { return false }
        return error.code == "NOPERM" || error.message.contains("executing the script can't run this command")
    }
}
