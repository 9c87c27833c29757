import NIOCore
import RedisServers
import RedisStore
import Sessions
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A gateway that may be cut off together with a primary that was replaced.
@Suite(.serialized) struct QuorumTests {
    @Test("More than half must be heard, so that the silent ones cannot choose a primary")
    func majority() {
        for (heard, count, isLost) in [
            (3, 3, false), (2, 3, false), (1, 3, true), (0, 3, true), (2, 4, true), (3, 4, false), (1, 1, false),
            (0, 1, true), (1, 2, true),
        ] {
            #expect(Quorum(heard: heard, count: count).isLost == isLost, "\(heard) of \(count)")
        }
    }

    @Test("After five seconds without most sentinels nothing is read or written, until they are heard again")
    func sentinels() async throws {
        try await RedisSentinelGroup.with(downAfter: 60_000) { group in
            try await Listener.with(group.configuration()) { listener in
                let (token, key) = try await listener.signIn(through: listener.store)
                func read() async throws -> Bool {
                    try await listener.store.session(key, on: loops.next()).get() != nil
                }
                try await waitUntil { try await listener.present(token) == 2 }
                group.sentinels[0].pause()
                try await Task.sleep(for: .seconds(6))
                #expect(listener.client.status.cutOff == nil)
                #expect(try await read())

                group.sentinels[1].pause()
                let began = ContinuousClock.now
                try await waitUntil("it is noticed") { listener.client.status.cutOff != nil }
                let delay = ContinuousClock.now - began
                #expect(delay > .seconds(3), "\(delay)")
                #expect(listener.client.status.cutOff?.quorum == Quorum(heard: 1, count: 3))
                await #expect(throws: StoreError.unavailable) { try await read() }
                await #expect(throws: StoreError.unavailable) {
                    try await listener.store.end(key, on: loops.next()).get()
                }
                try await waitUntil { try await listener.trusting(token) == 0 }
                #expect(!listener.client.status.invalidationIsUp)

                group.sentinels[1].resume()
                group.sentinels[0].resume()
                try await waitUntil("it is over") { listener.client.status.cutOff == nil }
                #expect(try await read())
                try await waitUntil { listener.events.last { $0 == .trusted || $0 == .doubted } == .trusted }
                #expect(listener.events.count { $0 == .rejoined } == 1)
            }
        }
    }

    @Test("After five seconds without most primaries of a cluster, the others are not used either")
    func cluster() async throws {
        try await RedisCluster.with(arguments: ["--cluster-require-full-coverage", "no"]) { cluster in
            try await Listener.with(cluster.configuration()) { listener in
                let bench = RedisStoreBench(listener.client)
                let lineage = cluster.lineage(at: 0, bench)
                _ = try await bench.signIn(in: lineage)
                for primary in cluster.primaries.dropFirst() { primary.pause() }
                defer { for primary in cluster.primaries { primary.resume() } }
                try await waitUntil("it is noticed") {
                    listener.client.status.cutOff?.quorum == Quorum(heard: 1, count: 3)
                }
                await #expect(throws: StoreError.unavailable) { try await bench.signIn(in: lineage) }
                for primary in cluster.primaries { primary.resume() }
                try await waitUntil("it is over") { listener.client.status.cutOff == nil }
                _ = try await bench.untilAnswered("a sign-in") { try await bench.signIn(in: lineage) }
            }
        }
    }

    @Test("While a sentinel makes another server the primary, durable writes are refused, until it gives up")
    func replacement() async throws {
        try await RedisServer.with { server in
            let news = Mutex<[String]>([])
            let endpoint = "\(loopback) \(server.port)"
            let answer: @Sendable ([String]) -> FakeRedis.Act = { command in
                guard command[0] == "SUBSCRIBE" else {
                    return FakeRedis.Act(
                        bytes: "*2\r\n$9\r\n\(loopback)\r\n$\("\(server.port)".count)\r\n\(server.port)\r\n"
                    )
                }
                func array(_ words: [String], _ last: String = "") -> String {
                    "*3\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined() + last
                }
                let confirmed = command.dropFirst().map { array(["subscribe", $0], ":1\r\n") }
                // Messages arrive with the next sign of life.
                let told = news.withLock { news in
                    defer { if command.count == 2 { news = [] } }
                    return command.count == 2 ? news : []
                }
                let messages = told.map { line in
                    array(["message", String(line.prefix { $0 != " " }), String(line.drop { $0 != " " }.dropFirst())])
                }
                return FakeRedis.Act(bytes: (confirmed + messages).joined())
            }
            try await FakeRedis.with(answer) { sentinel in
                let events = Mutex<[RedisEvent]>([])
                let client = try RedisClient(
                    configuration: .sentinel([sentinel.port], name: "gate"),
                    group: loops,
                    observe: { event in events.withLock { $0.append(event) } }
                )
                try await client.start()
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let holder = try await bench.signIn()
                func replacements() -> Int {
                    events.withLock { $0.count { if case .replacementBegun = $0 { true } else { false } } }
                }

                // For another primary that the sentinels watch.
                let other = "+promoted-slave slave \(endpoint) \(endpoint) @ other \(endpoint)"
                let ours = "+promoted-slave slave \(loopback):1 \(loopback) 1 @ gate \(endpoint)"
                news.withLock { $0 = [other] }
                try await waitUntil("it is told") { news.withLock(\.isEmpty) }
                try await Task.sleep(for: .milliseconds(100))
                #expect(replacements() == 0)
                news.withLock { $0 = [ours] }
                try await waitUntil("it is heard") { replacements() == 1 }
                await #expect(throws: StoreError.unavailable) { try await bench.signIn() }
                #expect(try await bench.session(holder.key) != nil)
                news.withLock { $0 = ["-failover-abort-slave-timeout master gate \(endpoint)"] }
                _ = try await bench.untilAnswered("a sign-in") { try await bench.signIn() }
                try await client.shutDown()
            }
        }
    }
}
