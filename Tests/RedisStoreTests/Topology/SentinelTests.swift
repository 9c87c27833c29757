import NIOCore
import RedisServers
import RedisStore
import Sessions
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A group of real servers with sentinels, whose primary is lost in several ways.
@Suite(.serialized) struct SentinelTests {
    @Test("The Redis store conforms behind sentinels, with replicas that confirm its writes")
    func conforms() async throws {
        try await RedisSentinelGroup.with { group in
            try await withClient(group.configuration()) { client in
                try await client.waitUntilConnected()
                #expect(client.status.nodes.map(\.facts?.connectedReplicas) == [2])
                try await conform(client, on: [try group.primary()])
            }
        }
    }

    @Test("After a primary was killed the store serves again; tokens from before are refused, later ones are accepted")
    func failover() async throws {
        try await RedisSentinelGroup.with { group in
            try await withClient(group.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn()
                let (used, unused) = (try await bench.mint(from: parent), try await bench.mint(from: parent))
                #expect(await bench.tryToConsume(used) == .done)
                try group.killPrimary()
                // One sentinel names the new primary first.
                let old = group.nodes[0]
                var elected = ContinuousClock.now
                try await waitUntil("an election") {
                    elected = .now
                    return try group.sentinels.indices.contains { try group.primary(by: $0) !== old }
                }
                let session = try await bench.untilAnswered("a read") { try await bench.session(parent.key) }
                print("usable \(ContinuousClock.now - elected) after the sentinels' election")
                #expect(session != nil)
                // The connection may be replaced between two reads.
                guard case .spent = try await bench.untilAnswered("a look", { try await bench.transfer(used) })
                else {
                    Issue.record("the marker, which a replica had confirmed, is not there")
                    return
                }
                // Reads continue during the promotion; writes wait for its end.
                let refusal = try await bench.untilAnswered("a refusal") {
                    try await bench.consumeAnew(unused)
                }
                #expect(refusal == .quarantined)
                let later = try await bench.untilAnswered("a mint") { try await bench.mint(from: parent) }
                let answer = try await bench.untilAnswered("a consumption") {
                    try await bench.consumeAnew(later)
                }
                #expect(answer == .done)
            }
        }
    }

    @Test("A replaced primary is reported as replaced, not as a stop of the gateway")
    func replaced() async throws {
        try await RedisSentinelGroup.with { group in
            let causes = Mutex<[RedisError.Cause]>([])
            let client = try RedisClient(
                configuration: group.configuration(),
                group: loops,
                observe: { event in
                    if case .nodeDown(_, let cause) = event { causes.withLock { $0.append(cause) } }
                }
            )
            try await client.start()
            try await client.waitUntilConnected()
            try await group.waitForPrimary(otherThan: group.failOver())
            try await waitUntil("it has moved") { causes.withLock { !$0.isEmpty } }
            try await client.shutDown()
            #expect(!causes.withLock(\.self).contains(.shuttingDown))
        }
    }

    @Test("It is reported when sentinels answer questions but refuse a subscription")
    func unheard() async throws {
        try await RedisSentinelGroup.with { group in
            for sentinel in group.sentinels {
                try sentinel.command("ACL", "SETUSER", "default", "resetchannels", "&+switch-master")
            }
            let refusals = Mutex<[String]>([])
            let client = try RedisClient(
                configuration: group.configuration(),
                group: loops,
                observe: { event in
                    if case .refused(_, let error) = event { refusals.withLock { $0.append(error.code) } }
                }
            )
            try await client.start()
            try await client.waitUntilConnected()
            try await waitUntil("it is told") { refusals.withLock(\.count) >= 3 }
            try await Task.sleep(for: .seconds(3))
            try await client.shutDown()
            // Before and after the first topology, however often it is tried.
            #expect(refusals.withLock { $0.allSatisfy { $0 == "NOPERM" } && $0.count <= 6 })
        }
    }

    @Test("F5: A marker that no replica had is lost in the failover, and the replay is refused nevertheless")
    func lostMarker() async throws {
        try await RedisSentinelGroup.with { group in
            let old = try group.primary()
            let replicas = group.nodes.filter { $0 !== old }
            let key = try await withClient(group.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                return try await bench.mint(from: bench.signIn())
            }
            // Replicas that hang and have lost their links: the primary knows of none that could confirm.
            for replica in replicas { replica.pause() }
            try old.command("CLIENT", "KILL", "TYPE", "replica")
            try await waitUntil("a primary without replicas") { try old.info("connected_slaves") == "0" }
            try await withClient(old.configuration()) { client in
                try await client.waitUntilConnected()
                #expect(await RedisStoreBench(client).tryToConsume(key) == .done)
            }
            old.kill()
            for replica in replicas { replica.resume() }
            let new = try await group.waitForPrimary(otherThan: old)
            // It has the token and no marker.
            #expect(try new.command("KEYS", "sp:t:*") != "")
            #expect(try new.command("KEYS", "sp:m:*") == "")
            try await withClient(group.configuration()) { client in
                let bench = RedisStoreBench(client)
                let replay = try await bench.untilAnswered("a replay") {
                    try await bench.consumeAnew(key)
                }
                #expect(replay == .quarantined)
            }
        }
    }

    @Test("A primary that is cut off from its sentinels is no longer used, though it can still be reached")
    func isolated() async throws {
        try await RedisSentinelGroup.with(proxied: true) { group in
            try await withClient(group.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn()
                let key = try await bench.mint(from: parent)
                let old = try await group.isolatePrimary()
                let new = try await group.waitForPrimary(otherThan: old)
                let elected = ContinuousClock.now
                let address = "\(loopback):\(group.port(of: new))"
                try await waitUntil("the new primary in use") {
                    client.status.isConnected && client.status.nodes.map(\.address) == [address]
                }
                print("the new primary in use \(ContinuousClock.now - elected) after all sentinels name it")
                #expect(old.isPrimary)
                #expect(await bench.tryToConsume(key) == .quarantined)
            }
        }
    }

    // MARK: Sentinels alone

    /// A server with one sentinel that watches it.
    private func withSentinel(
        _ lines: [String],
        host: String = loopback,
        _ body: (_ server: RedisServer, _ sentinel: RedisServer) async throws -> Void
    ) async throws {
        try await RedisServer.with { server in
            let monitor = ["sentinel monitor gate \(host) \(server.port) 1"]
            let configuration = (lines.prefix { $0.hasPrefix("sentinel resolve") } + monitor + lines).joined(
                separator: "\n"
            )
            let sentinel = try RedisServer(["--sentinel"], configuration: configuration + "\n")
            defer { sentinel.remove() }
            try await sentinel.start()
            try await body(server, sentinel)
        }
    }

    /// What a client reports that was refused.
    private func refusals(_ configuration: RedisConfiguration) async throws -> Set<String> {
        var configuration = configuration
        configuration.connectTimeout = .milliseconds(250)
        let codes = Mutex<Set<String>>([])
        let client = try RedisClient(configuration: configuration, group: loops) { event in
            if case .refused(_, let error) = event { codes.withLock { _ = $0.insert(error.code) } }
        }
        try await client.start()
        try await waitUntil("a refusal") { codes.withLock { !$0.isEmpty } }
        #expect(client.status.nodes.isEmpty)
        try await client.shutDown()
        return codes.withLock { $0 }
    }

    @Test("Sentinels have their own password, and one that does not know the primary reports so")
    func refusing() async throws {
        try await self.withSentinel(["requirepass of-the-sentinel"]) { _, sentinel in
            let right = Secret("of-the-sentinel")
            try await withClient(.sentinel([sentinel.port], name: "gate", password: right)) { client in
                try await client.waitUntilConnected()
                #expect(try await client.ask("PING") == .status("PONG"))
            }
            let none = try await self.refusals(.sentinel([sentinel.port], name: "gate"))
            #expect(none == ["NOAUTH"])
            let wrong = RedisConfiguration.sentinel([sentinel.port], name: "gate", password: Secret("wrong"))
            #expect(try await self.refusals(wrong) == ["WRONGPASS"])
            let unknown = RedisConfiguration.sentinel([sentinel.port], name: "other", password: right)
            #expect(try await self.refusals(unknown) == ["NOMASTER"])
        }
    }

    @Test("A sentinel may name the primary by its host name")
    func hostNames() async throws {
        let lines = ["sentinel resolve-hostnames yes", "sentinel announce-hostnames yes"]
        try await self.withSentinel(lines, host: "localhost") { server, sentinel in
            try await withClient(.sentinel([sentinel.port], name: "gate")) { client in
                try await client.waitUntilConnected()
                #expect(client.status.nodes.map(\.address) == ["localhost:\(server.port)"])
            }
        }
    }

    @Test("The answer of most sentinels does not count when the server there is not a primary")
    func stale() async throws {
        try await RedisServer.with(["--repl-diskless-sync-delay", "0"]) { primary in
            try await RedisServer.with(replicaOf: primary) { replica in
                try await waitUntil("a replica in step") { try replica.info("master_link_status") == "up" }
                func sentinel(naming port: Int) -> @Sendable ([String]) -> FakeRedis.Act {
                    { _ in FakeRedis.Act(bytes: "*2\r\n$9\r\n127.0.0.1\r\n$\("\(port)".count)\r\n\(port)\r\n") }
                }
                try await FakeRedis.with(sentinel(naming: replica.port)) { one in
                    try await FakeRedis.with(sentinel(naming: replica.port)) { two in
                        try await FakeRedis.with(sentinel(naming: primary.port)) { three in
                            let ports = [one, two, three].map(\.port)
                            try await withClient(.sentinel(ports, name: "gate")) { client in
                                try await client.waitUntilConnected()
                                #expect(client.status.nodes.map(\.address) == ["\(loopback):\(primary.port)"])
                            }
                        }
                    }
                }
            }
        }
    }

    @Test("While no sentinel can be reached the client keeps trying, and all works when one is back")
    func lateSentinel() async throws {
        try await self.withSentinel([]) { _, sentinel in
            sentinel.kill()
            var configuration = RedisConfiguration.sentinel([sentinel.port], name: "gate")
            configuration.connectTimeout = .milliseconds(250)
            try await withClient(configuration) { client in
                #expect(client.status.nodes.isEmpty)
                try await sentinel.start()
                try await client.waitUntilConnected()
                // Once the primary is known, no sentinel is needed.
                sentinel.kill()
                #expect(try await client.ask("PING") == .status("PONG"))
            }
        }
    }
}
