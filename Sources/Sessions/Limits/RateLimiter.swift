package import Cryptography
package import NIOCore

/// Limits how often something may be done (sign-in, minting) by the generic cell rate algorithm: a burst at once, then
/// one more each interval. A bucket is one number, the time at which it will be empty; a refused cost fills nothing.
package protocol RateLimiter: Sendable {
    /// Adds `cost` to all of the buckets if each has room for it, else to none.
    ///
    /// Fails with `StoreError.unavailable` when the cost could not be counted; the action must then be refused. A limit that
    /// is not awaited is decided by what this process knows.
    ///
    /// - Parameters:
    ///   - buckets: At most one of each limit.
    ///   - cost: The cost in units of each limit, from 1 to the smallest burst.
    func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision>

    /// Takes back an allowed cost because the gateway could not serve the request. The bucket then still lets through
    /// no more than its limit, whatever else was counted meanwhile. If this is lost, the bucket only stays as full as
    /// it is.
    ///
    /// - Parameter cost: The cost that was added to these buckets. Call this once for each allowed cost.
    func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Empties the bucket: a successful try has shown that the tries before it were no attack. If this is lost, the
    /// bucket only stays as full as it is.
    func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// The time until the bucket is empty if nothing more is counted, as far as this gateway and its store know; zero if it
    /// is empty. Counts nothing.
    func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration>
}

/// The decision of a rate limiter.
package enum RateDecision: Sendable, Hashable {
    /// There was room, and the cost was added.
    case allowed
    /// There is no room. `retryAfter` is the time until the same cost fits into every bucket.
    case throttled(retryAfter: Duration)
}

/// How often an action may be done.
package struct RateLimit: Sendable, Hashable {
    /// Part of every bucket's id, e.g. `signin.address`; no two limits have the same name.
    package let name: String
    /// How many may be done at once after a pause.
    package let burst: Int
    /// The time after which one more may be done, in whole milliseconds.
    package let interval: Duration
    /// Whether the action waits for what other processes have counted. A wide limit that only spares the store need not: each
    /// process counts by itself, and hears of a refusal before the tries that follow.
    package let isAwaited: Bool

    package init(_ name: String, burst: Int, interval: Duration, isAwaited: Bool = true) {
        precondition(burst > 0 && interval >= .milliseconds(1), "a rate limit needs a burst and an interval")
        self.name = name
        self.burst = burst
        self.interval = interval
        self.isAwaited = isAwaited
    }

    /// The time in which a full bucket becomes empty.
    package var drainTime: Duration { self.interval * self.burst }
}

/// One counter: a limit, and the address, user or other subject that it is kept for.
package struct RateBucket: Sendable, Hashable {
    package let limit: RateLimit
    /// SHA-256 of the limit's name and the parts, each preceded by its length, so that no two lists of parts are the
    /// same bytes (`ab`, `c` and `a`, `bc`). All ids have the same size, however long the client's input, and reveal
    /// nothing of it.
    package let id: Digest256

    /// The bucket of `limit` for the given parts, e.g. an address and a user.
    package init(_ limit: RateLimit, _ parts: [UInt8]...) {
        var bytes: [UInt8] = []
        for part in [Array(limit.name.utf8)] + parts {
            withUnsafeBytes(of: UInt64(part.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: part)
        }
        self.limit = limit
        self.id = SHA256.digest(bytes)
    }
}
