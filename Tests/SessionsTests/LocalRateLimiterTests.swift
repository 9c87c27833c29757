import NIOPosix
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

@Suite struct LocalRateLimiterTests {
    private static let once = RateLimit("once", burst: 1, interval: .seconds(10))

    @Test("The limiter of a single process conforms", arguments: LimiterConformance.cases)
    func conforms(_ behaviour: LimiterConformance) async throws {
        let clock = MovableClock()
        let bench = LimiterBench(
            LocalRateLimiter(clock: clock.clock),
            group: MultiThreadedEventLoopGroup.singleton,
            advance: { clock.advance(by: $0) }
        )
        try await behaviour.run(bench)
    }

    @Test("The wait that a refusal returns is exact")
    func wait() {
        let clock = MovableClock()
        let limiter = LocalRateLimiter(clock: clock.clock)
        let bucket = RateBucket(RateLimit("thrice", burst: 3, interval: .milliseconds(250)), [1])
        for _ in 0..<3 { #expect(limiter.allow([bucket], cost: 1) == .allowed) }
        #expect(limiter.allow([bucket], cost: 1) == .throttled(retryAfter: .milliseconds(250)))
        clock.advance(by: .milliseconds(249))
        #expect(limiter.allow([bucket], cost: 1) == .throttled(retryAfter: .milliseconds(1)))
        clock.advance(by: .milliseconds(1))
        #expect(limiter.allow([bucket], cost: 1) == .allowed)
        #expect(limiter.allow([bucket], cost: 3) == .throttled(retryAfter: .milliseconds(750)))
    }

    @Test("A full table neither empties a bucket nor refuses forever, and does not affect other limits")
    func capacity() {
        let clock = MovableClock()
        let limiter = LocalRateLimiter(capacity: 2, clock: clock.clock)
        func isAllowed(_ part: UInt8, of limit: RateLimit = Self.once) -> Bool {
            limiter.allow([RateBucket(limit, [part])], cost: 1) == .allowed
        }
        #expect(isAllowed(1))
        #expect(isAllowed(2))
        #expect(isAllowed(3), "the first of those that share")
        #expect(!isAllowed(4), "shares with 3")
        #expect(!isAllowed(1), "is still counted")
        #expect(isAllowed(4, of: RateLimit("other", burst: 1, interval: .seconds(10))))
        clock.advance(by: .seconds(10))
        #expect(isAllowed(4))
        #expect(isAllowed(5))
    }

    @Test("The number of buckets is bounded, and existing buckets keep their counts")
    func bounded() {
        let clock = MovableClock()
        for whenFull in [LocalRateLimiter.WhenFull.share, .allow] {
            let limiter = LocalRateLimiter(capacity: 100, whenFull: whenFull, clock: clock.clock)
            let first = RateBucket(Self.once, [0])
            #expect(limiter.allow([first], cost: 1) == .allowed)
            for number in 0..<10_000 {
                _ = limiter.allow([RateBucket(Self.once, Array("\(number)".utf8))], cost: 1)
            }
            #expect((100...101).contains(limiter.bucketCount))
            #expect(limiter.allow([first], cost: 1) == .throttled(retryAfter: .seconds(10)))
        }
    }

    @Test("With `whenFull: .allow`, a bucket that does not fit is allowed, because another limiter counts as well")
    func overflowAllowed() {
        let limiter = LocalRateLimiter(capacity: 1, whenFull: .allow, clock: MovableClock().clock)
        #expect(limiter.allow([RateBucket(Self.once, [1])], cost: 1) == .allowed)
        #expect(limiter.allow([RateBucket(Self.once, [1])], cost: 1) != .allowed)
        for _ in 0..<3 { #expect(limiter.allow([RateBucket(Self.once, [2])], cost: 1) == .allowed) }
    }

    @Test("What is given back can be taken again, and a refusal that was learned is applied")
    func correction() {
        let clock = MovableClock()
        let limiter = LocalRateLimiter(clock: clock.clock)
        let bucket = RateBucket(RateLimit("thrice", burst: 3, interval: .seconds(10)), [1])
        #expect(limiter.allow([bucket], cost: 3) == .allowed)
        limiter.giveBack([bucket], cost: 2)
        #expect(limiter.allow([bucket], cost: 2) == .allowed)
        #expect(limiter.allow([bucket], cost: 1) == .throttled(retryAfter: .seconds(10)))
        limiter.forgive(bucket)
        // Another process has filled the bucket.
        #expect(limiter.allow([bucket], cost: 1) == .allowed)
        limiter.learn(bucket, cost: 1, refusedFor: .seconds(4))
        #expect(limiter.allow([bucket], cost: 1) == .throttled(retryAfter: .seconds(4)))
        #expect(limiter.allow([bucket], cost: 2) == .throttled(retryAfter: .seconds(14)))
        clock.advance(by: .seconds(4))
        #expect(limiter.allow([bucket], cost: 1) == .allowed)
        #expect(limiter.allow([bucket], cost: 1) == .throttled(retryAfter: .seconds(10)))
    }
}
