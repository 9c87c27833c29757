import Cryptography
package import NIOCore
import Synchronization
package import Vocabulary

/// The rate limiter in the memory of one process. With the memory store, it is the only limiter. With a shared store,
/// it decides before the shared limiter is asked.
package final class LocalRateLimiter: RateLimiter {
    /// What happens to a new bucket while the table is full.
    package enum WhenFull: Sendable {
        /// All new buckets use one common bucket, so the limit still applies.
        case share
        /// The action is allowed. A shared limiter counts it, too.
        case allow
    }

    private let tables = Mutex<[String: Table]>([:])
    private let capacity: Int
    private let whenFull: WhenFull
    private let clock: Clock

    /// - Parameter capacity: The maximum number of buckets of each limit. The limits have separate tables, so filling
    ///   one table does not affect the others.
    package init(capacity: Int = 65_536, whenFull: WhenFull = .share, clock: Clock) {
        precondition(capacity > 0, "the capacity must be positive")
        self.capacity = capacity
        self.whenFull = whenFull
        self.clock = clock
    }

    /// The number of buckets, including empty ones that have not been removed.
    package var bucketCount: Int { self.tables.withLock { $0.values.reduce(0) { $0 + $1.emptyAt.count } } }

    package func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
        loop.makeSucceededFuture(self.allow(buckets, cost: cost))
    }

    package func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.giveBack(buckets, cost: cost)
        return loop.makeSucceededVoidFuture()
    }

    package func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.forgive(bucket)
        return loop.makeSucceededVoidFuture()
    }

    package func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration> {
        loop.makeSucceededFuture(self.drainTime(of: bucket))
    }

    /// Returns the time until the bucket is empty.
    package func drainTime(of bucket: RateBucket) -> Duration {
        let now = self.clock.now()
        return self.tables.withLock { tables in
            guard let emptyAt = tables[bucket.limit.name]?.emptyAt[bucket.id] else { return .zero }
            return min(max(emptyAt.since(now), .zero), bucket.limit.drainTime)
        }
    }

    /// Adds `cost` to all buckets if each has room for it; otherwise to none.
    package func allow(_ buckets: [RateBucket], cost: Int) -> RateDecision {
        let now = self.clock.now()
        return self.tables.withLock { tables in
            /// The buckets to fill. The id is `nil` for the common bucket (`WhenFull.share`).
            var filled: [(limit: String, id: Digest256?)] = []
            var longest: Duration?
            for bucket in buckets {
                let limit = bucket.limit
                precondition((1...limit.burst).contains(cost), "the cost must be between 1 and the burst")
                var table = tables.removeValue(forKey: limit.name) ?? Table(limit: limit)
                let hasPlace = table.hasPlace(for: bucket.id, capacity: self.capacity, at: now)
                if hasPlace || self.whenFull == .share {
                    let id = hasPlace ? bucket.id : nil
                    filled.append((limit.name, id))
                    if let wait = table.wait(of: id, cost: cost, at: now) { longest = max(longest ?? wait, wait) }
                }
                tables[limit.name] = table
            }
            if let longest { return .throttled(retryAfter: longest) }
            for (limit, id) in filled { tables[limit]?.fill(id, cost: cost, at: now) }
            return .allowed
        }
    }

    /// Empties the bucket.
    package func forgive(_ bucket: RateBucket) {
        self.table(of: bucket) { $0.emptyAt[bucket.id] = nil }
    }

    /// Takes back a cost that was allowed.
    package func giveBack(_ buckets: [RateBucket], cost: Int) {
        for bucket in buckets {
            self.table(of: bucket) { table in
                guard let emptyAt = table.emptyAt[bucket.id] else { return }
                table.emptyAt[bucket.id] = emptyAt.advanced(by: .zero - bucket.limit.interval * cost)
            }
        }
    }

    /// Adopts the rejection of a shared limiter that has counted more: the same cost is rejected here until `wait` has
    /// passed.
    package func learn(_ bucket: RateBucket, cost: Int, refusedFor wait: Duration) {
        let emptyAt = self.clock.now().advanced(by: wait + bucket.limit.drainTime - bucket.limit.interval * cost)
        self.table(of: bucket) { table in
            if table.emptyAt[bucket.id] != nil { table.emptyAt[bucket.id] = emptyAt }
        }
    }

    private func table<Answer>(of bucket: RateBucket, _ step: (inout Table) -> Answer) -> Answer {
        self.tables.withLock { step(&$0[bucket.limit.name, default: Table(limit: bucket.limit)]) }
    }
}

/// The buckets of one limit.
private struct Table {
    let limit: RateLimit
    /// The time when each bucket will be empty. The id is `nil` for the common bucket (`WhenFull.share`).
    var emptyAt: [Digest256?: UnixTime] = [:]
    private var sweptAt: UnixTime?

    init(limit: RateLimit) {
        self.limit = limit
    }

    /// Reports whether the bucket is in the table or there is room for it. If the table is full, empty buckets are
    /// removed, at most once a second because this scans the table.
    mutating func hasPlace(for id: Digest256, capacity: Int, at now: UnixTime) -> Bool {
        if self.emptyAt[id] != nil || self.emptyAt.count < capacity { return true }
        let isRested = self.sweptAt.map { abs(now.milliseconds - $0.milliseconds) >= 1000 } ?? true
        if isRested {
            self.sweptAt = now
            let full = now.advanced(by: self.limit.drainTime)
            self.emptyAt = self.emptyAt.compactMapValues { $0 > now ? min($0, full) : nil }
        }
        return self.emptyAt.count < capacity
    }

    /// Returns the time until the cost fits into the bucket; `nil` if it fits now.
    mutating func wait(of id: Digest256?, cost: Int, at now: UnixTime) -> Duration? {
        // No bucket is more than full. So a client waits at most the drain time after the clock was set back.
        let full = now.advanced(by: self.limit.drainTime)
        if let emptyAt = self.emptyAt[id], emptyAt > full { self.emptyAt[id] = full }
        let filled = self.filled(id, cost: cost, at: now)
        return filled <= full ? nil : filled.since(full)
    }

    /// Adds the cost to the bucket. The caller has checked that it fits (`wait`).
    mutating func fill(_ id: Digest256?, cost: Int, at now: UnixTime) {
        self.emptyAt[id] = self.filled(id, cost: cost, at: now)
    }

    /// Returns the time when the bucket would be empty if the cost were added.
    private func filled(_ id: Digest256?, cost: Int, at now: UnixTime) -> UnixTime {
        max(self.emptyAt[id] ?? now, now).advanced(by: self.limit.interval * cost)
    }
}
