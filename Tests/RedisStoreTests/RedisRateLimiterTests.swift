import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreBench
import StoreConformance
import TestSupport
import Testing
import Vocabulary

@Suite struct RedisRateLimiterTests {
    private static let limit = RateLimit("limit", burst: 4, interval: .seconds(10_000))

    private static func limiter(_ client: RedisClient, _ clock: Clock = .system) -> RedisRateLimiter {
        RedisRateLimiter(client: client, ring: RedisStoreBench.ring, clock: clock)
    }

    private static func bucket(_ text: String) -> RateBucket {
        RateBucket(Self.limit, Array(text.utf8))
    }

    private static func allow(_ limiter: RedisRateLimiter, _ text: String) async throws -> Bool {
        try await limiter.allow([Self.bucket(text)], cost: 1, on: loops.next()).get() == .allowed
    }

    /// A gateway that has just started, at every call, so that only Redis remembers anything.
    private struct EverNew: RateLimiter {
        let client: RedisClient

        func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
            RedisRateLimiterTests.limiter(self.client).allow(buckets, cost: cost, on: loop)
        }

        func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void> {
            RedisRateLimiterTests.limiter(self.client).giveBack(buckets, cost: cost, on: loop)
        }

        func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void> {
            RedisRateLimiterTests.limiter(self.client).forgive(bucket, on: loop)
        }

        func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration> {
            RedisRateLimiterTests.limiter(self.client).drainTime(of: bucket, on: loop)
        }
    }

    @Test(
        "The limiter in Redis conforms, with one gateway or with a new one for each call",
        arguments: LimiterConformance.cases
    )
    func conforms(_ behaviour: LimiterConformance) async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let clock = MovableClock()
                for limiter in [Self.limiter(client, clock.clock), EverNew(client: client)] as [any RateLimiter] {
                    _ = try await client.ask("FLUSHALL")
                    let bench = LimiterBench(limiter, group: loops) { duration in
                        clock.advance(by: duration)
                        try await client.ageBuckets(by: duration)
                    }
                    try await behaviour.run(bench)
                }
            }
        }
    }

    @Test("Two gateways share each bucket, and a reset by one counts for both")
    func shared() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { first in
                try await withClient(server.configuration()) { second in
                    let (one, two) = (Self.limiter(first), Self.limiter(second))
                    for limiter in [one, two, one, two] { #expect(try await Self.allow(limiter, "alice")) }
                    #expect(try await !Self.allow(one, "alice"))
                    #expect(try await !Self.allow(two, "alice"))
                    #expect(try await Self.allow(two, "bob"))
                    try await one.forgive(Self.bucket("alice"), on: loops.next()).get()
                    #expect(try await Self.allow(one, "alice"))
                    #expect(try await Self.allow(Self.limiter(second), "alice"), "a gateway that saw no refusal")
                }
            }
        }
    }

    @Test("A limit that is not awaited is decided at once, and what was counted elsewhere is heard for the next tries")
    func notAwaited() async throws {
        let bucket = RateBucket(RateLimit("wide", burst: 1000, interval: .seconds(10), isAwaited: false), [1])
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let (one, other) = (Self.limiter(client), Self.limiter(client))
                #expect(try await one.allow([bucket], cost: 1000, on: loops.next()).get() == .allowed)
                #expect(try await one.allow([bucket], cost: 1, on: loops.next()).get() != .allowed)
                try await waitUntil("Redis has counted it") {
                    try await other.drainTime(of: bucket, on: loops.next()).get() > .seconds(9000)
                }
                let first = try await other.allow([bucket], cost: 1, on: loops.next()).get()
                #expect(first == .allowed, "decided by what it knows")
                try await waitUntil("it has heard of the refusal") {
                    try await other.allow([bucket], cost: 1, on: loops.next()).get() != .allowed
                }
            }
        }
    }

    @Test("Several gateways that are asked at once allow one burst together")
    func race() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let limiters = (0..<4).map { _ in Self.limiter(client) }
                let allowed = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<64 {
                        group.addTask { try await Self.allow(limiters[number % 4], "alice") }
                    }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(allowed == 4)
            }
        }
    }

    @Test("A refusal is repeated without asking Redis")
    func preLimit() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let (busy, other) = (Self.limiter(client), Self.limiter(client))
                for _ in 0..<4 { #expect(try await Self.allow(busy, "alice")) }
                // Its own count refuses the one, and Redis the other; then its own count refuses both.
                #expect(try await !Self.allow(other, "alice"))
                _ = try await client.ask("CONFIG", "RESETSTAT")
                for _ in 0..<20 {
                    #expect(try await !Self.allow(busy, "alice"))
                    #expect(try await !Self.allow(other, "alice"))
                }
                guard case .bulk(let statistics) = try await client.ask("INFO", "commandstats") else {
                    Issue.record("no statistics")
                    return
                }
                #expect(!String(decoding: statistics, as: UTF8.self).contains("cmdstat_eval"))
            }
        }
    }

    @Test("Without Redis every attempt fails as unavailable, and none is counted when Redis is back")
    func outage() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let limiter = Self.limiter(client)
                #expect(try await Self.allow(limiter, "alice"))
                server.kill()
                try await client.waitUntilDisconnected()
                for _ in 0..<20 {
                    await #expect(throws: StoreError.unavailable) { try await Self.allow(limiter, "alice") }
                }
                await #expect(throws: StoreError.unavailable) {
                    try await limiter.forgive(Self.bucket("bob"), on: loops.next()).get()
                }
                try await server.start()
                try await client.waitUntilConnected()
                // Redis lost its buckets; this gateway still has the one that it allowed.
                for _ in 0..<3 { #expect(try await Self.allow(limiter, "alice")) }
                #expect(try await !Self.allow(limiter, "alice"))
            }
        }
    }

    @Test("A full Redis and a foreign value make the limiter unavailable")
    func refusedByRedis() async throws {
        try await RedisServer.with(["--maxmemory-policy", "noeviction"]) { server in
            try await withClient(server.configuration()) { client in
                #expect(try await Self.allow(Self.limiter(client), "alice"))
                let key = try #require(try await client.dump().keys.first)
                _ = try await client.send(RedisCommand("SET", [key, Array("x".utf8)]), on: loops.next()).get()
                await #expect(throws: StoreError.unavailable) { try await Self.allow(Self.limiter(client), "alice") }
                _ = try await client.ask("CONFIG", "SET", "maxmemory", "1")
                await #expect(throws: StoreError.unavailable) { try await Self.allow(Self.limiter(client), "bob") }
            }
        }
    }

    @Test("A bucket in Redis is a number under a name that reveals nothing, and expires when it is empty")
    func contents() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                #expect(try await Self.allow(Self.limiter(client), "alice@example.org"))
                let dump = try await client.dump()
                let (key, value) = try #require(dump.first)
                #expect(dump.count == 1)
                #expect(String(decoding: key, as: UTF8.self).wholeMatch(of: /sp:l:\{[A-Za-z0-9_-]{43}\}/) != nil)
                #expect(Int64(String(decoding: value, as: UTF8.self)) != nil)
                guard
                    case .integer(let life) = try await client.send(RedisCommand("PTTL", [key]), on: loops.next()).get()
                else {
                    Issue.record("no life")
                    return
                }
                #expect((1...10_000_000).contains(life))
            }
        }
    }
}

extension RedisClient {
    /// Simulates time for the limiter's buckets: each value and each TTL is moved, and expired keys are deleted.
    fileprivate func ageBuckets(by duration: Duration) async throws {
        let script = """
            for _, key in ipairs(redis.call('KEYS', 'sp:l:*')) do
              local left = redis.call('PTTL', key) - tonumber(ARGV[1])
              local value = redis.call('GET', key) - tonumber(ARGV[1]) * 1000
              if left > 0 then
                redis.call('SET', key, string.format('%.0f', value), 'PX', string.format('%.0f', left))
              else
                redis.call('DEL', key)
              end
            end
            return 1
            """
        let reply = try await self.ask("EVAL", script, "0", "\(duration.wholeMilliseconds)")
        guard reply == .integer(1) else { throw RedisError.unexpected }
    }
}
