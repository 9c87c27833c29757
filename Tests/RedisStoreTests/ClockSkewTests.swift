import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// Gateways with different clocks (T31).
@Suite struct ClockSkewTests {
    /// The clock of a machine that is ahead by this many seconds.
    private func machine(_ skew: Int) -> Clock { Clock { Clock.system.now().advanced(by: .seconds(skew)) } }

    /// Stores of one Redis on machines whose clocks are five minutes behind, right, and five minutes ahead.
    private func withSkewed(_ body: (RedisClient, [RedisStoreBench]) async throws -> Void) async throws {
        func bench(_ client: RedisClient) -> RedisStoreBench { RedisStoreBench(client, clock: client.clock) }
        try await RedisServer.with { server in
            let configuration = server.configuration()
            try await withClient(configuration, localClock: self.machine(-300)) { behind in
                try await withClient(configuration) { right in
                    try await withClient(configuration, localClock: self.machine(300)) { ahead in
                        try await body(right, [bench(behind), bench(right), bench(ahead)])
                    }
                }
            }
        }
    }

    @Test("T31: whatever the gateways' clocks show, each accepts what another made, for the same time")
    func oneClock() async throws {
        try await self.withSkewed { _, benches in
            for bench in benches {
                let (before, now, after) = (Clock.system.now(), bench.clock.now(), Clock.system.now())
                #expect(now > before.advanced(by: .seconds(-2)) && now < after.advanced(by: .seconds(2)))
            }
            for writer in benches {
                for reader in benches {
                    let parent = try await writer.signIn()
                    let token = try await writer.mint(from: parent)
                    let draft = reader.draft(lineage: parent.key.lineage)
                    let attempt = reader.authority.newAttempt()
                    #expect(try await reader.consume(token, creating: draft, attempt: attempt) == .done)
                    #expect(try await writer.session(draft.key)?.id == draft.session.id)

                    // Its end and its idle deadline are both nearer than the difference of the clocks.
                    let short = writer.draft(life: .seconds(100), idle: .seconds(60))
                    try await writer.store.create(short, on: loops.next()).get()
                    try await reader.store.touch(short.key, on: loops.next()).get()
                    for bench in benches { #expect(try await bench.session(short.key) != nil) }

                    // It has ended by the clock of its writer: it has ended for all.
                    let over = writer.draft(life: .seconds(-2), idle: .seconds(60))
                    try await writer.store.create(over, on: loops.next()).get()
                    for bench in benches { #expect(try await bench.session(over.key) == nil) }
                }
            }
        }
    }

    @Test("T31: a record that has expired by Redis's clock is gone, whatever the gateways' clocks show")
    func lifetimes() async throws {
        try await self.withSkewed { client, benches in
            for writer in benches {
                let parent = try await writer.signIn()
                let token = try await writer.mint(from: parent)
                let idle = writer.draft(idle: .seconds(60))
                try await writer.store.create(idle, on: loops.next()).get()
                // A little more than a minute has passed.
                try await client.age(by: .seconds(70))
                for reader in benches {
                    #expect(try await reader.session(parent.key)?.id == parent.session.id)
                    #expect(try await reader.session(idle.key) == nil)
                    guard case .absent = try await reader.transfer(token) else {
                        Issue.record("a token outlives its time in Redis")
                        continue
                    }
                }
            }
        }
    }

    @Test("A gateway uses its own clock until the primary has reported its time, and then the primary's")
    func told() {
        let own = MovableClock()
        let clock = StoreClock(local: own.clock)
        #expect(clock.now == own.now)
        // The middle of the question: 10:00:00.200 by its own clock, 10:05:00.000 by the primary's.
        clock.set(by: own.now.advanced(by: .milliseconds(299_800)), roundTrip: .milliseconds(400))
        #expect(clock.now == own.now.advanced(by: .seconds(300)))
        own.advance(by: .seconds(60))
        #expect(clock.now == own.now.advanced(by: .seconds(300)))
        // A failover to a primary whose clock is behind.
        clock.set(by: own.now.advanced(by: .seconds(-300)), roundTrip: .zero)
        #expect(clock.clock.now() == own.now.advanced(by: .seconds(-300)))
    }

    @Test("F17: If Redis does not report its time, each gateway uses its machine's clock, also when that is changed")
    func untold() async throws {
        try await FakeRedis.with({ _ in FakeRedis.Act(bytes: "$-1\r\n") }) { fake in
            try await withClient(fake.configuration(), localClock: self.machine(300)) { client in
                try await client.waitUntilConnected()
                let (before, now, after) = (Clock.system.now(), client.clock.now(), Clock.system.now())
                #expect(now > before.advanced(by: .seconds(-2)) && now < after.advanced(by: .seconds(2)))
            }
        }
    }

    @Test("A small difference and a slow answer do not change the clock")
    func noise() {
        let own = MovableClock()
        let clock = StoreClock(local: own.clock)
        for difference in [-1000, -1, 1, 1000] {
            clock.set(by: own.now.advanced(by: .milliseconds(difference)), roundTrip: .zero)
            #expect(clock.now == own.now)
        }
        clock.set(by: own.now.advanced(by: .seconds(300)), roundTrip: .milliseconds(1001))
        #expect(clock.now == own.now)
    }

    @Test("All gateways of a cluster use the clock of the same primary, in whatever order they know the primaries")
    func timekeeper() {
        func shard(_ port: Int, _ slots: ClosedRange<UInt16>...) -> Topology.Shard {
            Topology.Shard(endpoint: .tcp(host: "h", port: port), slots: slots)
        }
        let shards = [shard(1, 6000...16_383), shard(2, 0...10, 500...5999), shard(3), shard(4, 11...499)]
        for rotation in shards.indices {
            let rotated = Array(shards[rotation...] + shards[..<rotation])
            #expect(Topology(shards: rotated).timekeeper == .tcp(host: "h", port: 2))
        }
    }
}
