package import NIOCore
package import Sessions
import Vocabulary

/// A rate limiter under test, new for each case, and a way to let time pass for it.
package struct LimiterBench: Sendable {
    let limiter: any RateLimiter
    let group: any EventLoopGroup
    let advance: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///     - limiter: has no buckets yet.
    ///     - group: the loops on which it is called.
    ///   - advance: lets time pass; a negative duration sets the limiter's clock back.
    package init(
        _ limiter: any RateLimiter,
        group: any EventLoopGroup,
        advance: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.limiter = limiter
        self.group = group
        self.advance = advance
    }

    func allow(_ bucket: RateBucket, cost: Int = 1) async throws -> RateDecision {
        try await self.limiter.allow([bucket], cost: cost, on: self.group.next()).get()
    }

    func allow(_ buckets: [RateBucket]) async throws -> RateDecision {
        try await self.limiter.allow(buckets, cost: 1, on: self.group.next()).get()
    }

    func giveBack(_ buckets: [RateBucket], cost: Int = 1) async throws {
        try await self.limiter.giveBack(buckets, cost: cost, on: self.group.next()).get()
    }

    func drainTime(of bucket: RateBucket) async throws -> Duration {
        try await self.limiter.drainTime(of: bucket, on: self.group.next()).get()
    }

    func forgive(_ bucket: RateBucket) async throws {
        try await self.limiter.forgive(bucket, on: self.group.next()).get()
    }

    /// Asks this many times and expects every request to be allowed.
    func fill(_ bucket: RateBucket, times: Int) async throws {
        for number in 1...times {
            try expect(try await self.allow(bucket) == .allowed, "try \(number) of \(times) allowed")
        }
    }

    /// Asks once and expects a refusal with a wait in `range`.
    func expectThrottled(_ bucket: RateBucket, cost: Int = 1, for range: ClosedRange<Duration>) async throws {
        let decision = try await self.allow(bucket, cost: cost)
        guard case .throttled(let wait) = decision, range.contains(wait) else {
            throw ConformanceFailure(description: "expected throttled for \(range), not \(decision)")
        }
    }
}

/// What every `RateLimiter` must do, wherever it keeps its counts. Intervals are so long that the time that passes
/// while a case runs does not matter.
package struct LimiterConformance: Sendable, CustomStringConvertible {
    /// The behaviour; the name of the test.
    package let description: String
    private let body: @Sendable (LimiterBench) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (LimiterBench) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Runs the case; throws `ConformanceFailure` with what was expected.
    package func run(_ bench: LimiterBench) async throws {
        try await self.body(bench)
    }

    private static let interval = Duration.seconds(10_000)
    private static let limit = RateLimit("limit", burst: 5, interval: Self.interval)
    private static let bucket = RateBucket(Self.limit, [1])

    /// Cases for every limiter.
    package static let cases: [LimiterConformance] = [
        LimiterConformance("a burst is allowed, then nothing until an interval has passed") { bench in
            try await bench.fill(Self.bucket, times: 5)
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
            try await bench.advance(.seconds(5000))
            try await bench.expectThrottled(Self.bucket, for: .seconds(4000)...(.seconds(5000)))
            try await bench.advance(.seconds(5000))
            try await bench.fill(Self.bucket, times: 1)
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
        },
        LimiterConformance("a long pause earns one full burst and no more") { bench in
            try await bench.fill(Self.bucket, times: 5)
            try await bench.advance(.seconds(1_000_000))
            try await bench.fill(Self.bucket, times: 5)
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
        },
        LimiterConformance("looking at a bucket tells how full it is, and counts nothing") { bench in
            try expect(try await bench.drainTime(of: Self.bucket) == .zero, "an empty bucket")
            try await bench.fill(Self.bucket, times: 2)
            for _ in 0..<5 {
                let drain = try await bench.drainTime(of: Self.bucket)
                try expect((.seconds(19_000)...(.seconds(20_000))).contains(drain), "two of five, not \(drain)")
            }
            try await bench.fill(Self.bucket, times: 3)
            try await bench.forgive(Self.bucket)
            try expect(try await bench.drainTime(of: Self.bucket) == .zero, "a forgiven bucket")
        },
        LimiterConformance("a refused request is not counted") { bench in
            try await bench.fill(Self.bucket, times: 5)
            for _ in 0..<50 {
                try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
            }
            try await bench.advance(Self.interval)
            try await bench.fill(Self.bucket, times: 1)
        },
        LimiterConformance("a cost is taken in full or not at all") { bench in
            try expect(try await bench.allow(Self.bucket, cost: 3) == .allowed, "room for 3 of 5")
            try await bench.expectThrottled(Self.bucket, cost: 3, for: .seconds(9000)...Self.interval)
            try await bench.expectThrottled(Self.bucket, cost: 5, for: .seconds(29_000)...(.seconds(30_000)))
            try expect(try await bench.allow(Self.bucket, cost: 2) == .allowed, "room for 2 of 2")
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
            try await bench.advance(Self.interval * 5)
            try expect(try await bench.allow(Self.bucket, cost: 5) == .allowed, "room for 5 of 5")
        },
        LimiterConformance("buckets are independent of each other, even if their joined parts are equal") { bench in
            let other = RateLimit("limi", burst: 5, interval: Self.interval)
            let text = { (text: String) in Array(text.utf8) }
            let buckets = [
                RateBucket(Self.limit, text("ab"), text("c")), RateBucket(Self.limit, text("a"), text("bc")),
                RateBucket(Self.limit, text("abc")), RateBucket(Self.limit, text("abc"), []),
                RateBucket(Self.limit, [], text("abc")), RateBucket(Self.limit), RateBucket(Self.limit, []),
                RateBucket(other, text("tab"), text("c")), RateBucket(other, text("t"), text("ab"), text("c")),
            ]
            for bucket in buckets {
                try await bench.fill(bucket, times: 5)
                try await bench.expectThrottled(bucket, for: .seconds(9000)...Self.interval)
            }
        },
        LimiterConformance("a forgiven bucket is like a new one, and no other bucket is forgiven with it") { bench in
            let other = RateBucket(Self.limit, [2])
            try await bench.forgive(Self.bucket)
            try await bench.fill(Self.bucket, times: 5)
            try await bench.fill(other, times: 5)
            try await bench.forgive(Self.bucket)
            try await bench.fill(Self.bucket, times: 5)
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
            try await bench.expectThrottled(other, for: .seconds(9000)...Self.interval)
        },
        LimiterConformance("of several buckets all are filled or none, and the longest wait is returned") { bench in
            let wide = RateBucket(RateLimit("wide", burst: 7, interval: Self.interval * 2), [1])
            let others = (2...4).map { RateBucket(Self.limit, [$0]) }
            for _ in 0..<5 {
                try expect(try await bench.allow([Self.bucket, wide]) == .allowed, "room in both")
            }
            for _ in 0..<10 {
                let decision = try await bench.allow([Self.bucket, wide])
                guard case .throttled(let wait) = decision, wait <= Self.interval else {
                    throw ConformanceFailure(description: "expected the narrow one's wait, not \(decision)")
                }
            }
            try expect(try await bench.allow([others[0], wide]) == .allowed, "the wide one has room for two more")
            try expect(try await bench.allow([others[1], wide]) == .allowed, "the wide one has room for one more")
            for _ in 0..<10 {
                for bucket in [others[2], Self.bucket] {
                    let decision = try await bench.allow([bucket, wide])
                    guard case .throttled(let wait) = decision, wait > Self.interval else {
                        throw ConformanceFailure(description: "expected the wide one's wait, not \(decision)")
                    }
                }
            }
            try await bench.fill(others[2], times: 5)
        },
        LimiterConformance("what is given back can be taken again, but only once") { bench in
            let wide = RateBucket(RateLimit("wide", burst: 7, interval: Self.interval), [1])
            try await bench.giveBack([Self.bucket, wide])
            for _ in 0..<20 {
                try expect(try await bench.allow([Self.bucket, wide]) == .allowed, "nothing of it was done")
                try await bench.giveBack([Self.bucket, wide])
            }
            try await bench.fill(Self.bucket, times: 5)
            try await bench.giveBack([Self.bucket])
            try await bench.fill(Self.bucket, times: 1)
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
            // What drained in the meantime is at most what the limit allows in that time.
            try await bench.advance(Self.interval * 10)
            try await bench.giveBack([Self.bucket], cost: 5)
            try await bench.fill(Self.bucket, times: 5)
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
        },
        LimiterConformance("of many that ask at once, as many are allowed as the burst has") { bench in
            let allowed = try await withThrowingTaskGroup(of: RateDecision.self) { group in
                for _ in 0..<64 { group.addTask { try await bench.allow(Self.bucket) } }
                return try await group.reduce(into: 0) { $0 += $1 == .allowed ? 1 : 0 }
            }
            try expect(allowed == 5, "5 allowed, not \(allowed)")
        },
        LimiterConformance("a clock that is set back locks no one out for longer than a bucket takes to drain") {
            bench in
            try await bench.fill(Self.bucket, times: 5)
            try await bench.advance(.seconds(-10_000_000))
            try await bench.expectThrottled(Self.bucket, for: .seconds(9000)...Self.interval)
            var isAllowed = false
            for _ in 0..<5 where !isAllowed {
                try await bench.advance(Self.interval)
                isAllowed = try await bench.allow(Self.bucket) == .allowed
            }
            try expect(isAllowed, "room in the time in which a full bucket runs empty")
        },
        LimiterConformance("an answer arrives on the caller's loop") { bench in
            for _ in 0..<4 {
                let loop = bench.group.next()
                let allowed = bench.limiter.allow([Self.bucket], cost: 1, on: loop)
                let forgiven = bench.limiter.forgive(Self.bucket, on: loop)
                let givenBack = bench.limiter.giveBack([Self.bucket], cost: 1, on: loop)
                for future in [allowed.map { _ in }, forgiven, givenBack] {
                    try expect(future.eventLoop === loop, "the caller's loop")
                    try await future.get()
                }
            }
        },
    ]
}
