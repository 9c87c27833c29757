package import Cryptography
package import NIOCore

/// Limits how often something may be done (sign-in, minting) by the generic cell rate algorithm: a burst at once, then
/// one action per interval. A bucket is one number, the time when it will be empty. A rejected cost is not added.
package protocol RateLimiter: Sendable {
    /// Adds `cost` to all buckets if each has room for it; otherwise to none.
    ///
    /// Fails with `StoreError.unavailable` if the cost could not be counted; the action must then be denied. A limit
    /// that is not awaited is decided by this process alone.
    ///
    /// - Parameters:
    ///   - buckets: At most one bucket of each limit.
    ///   - cost: The cost in units of each limit, from 1 to the smallest burst.
    func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision>

    /// Takes back an allowed cost because the gateway could not serve the request. The bucket still lets through no
    /// more than its limit, whatever was added meanwhile. If the call is lost, the cost stays in the bucket.
    ///
    /// - Parameter cost: The cost that `allow` added to these buckets. Each allowed cost may be given back once.
    func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Empties the bucket: a successful attempt has shown that the earlier attempts were not an attack. If the call is
    /// lost, the bucket keeps its content until it drains.
    func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Returns the time until the bucket is empty if nothing is added, as far as this gateway and its store know. It is
    /// zero if the bucket is empty. The call adds nothing.
    func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration>
}

/// The decision of a rate limiter.
package enum RateDecision: Sendable, Hashable {
    /// There was room, and the cost was added.
    case allowed
    /// There is no room. `retryAfter` is the time until the same cost fits into every bucket.
    case throttled(retryAfter: Duration)
}

/// The rate at which an action may be done.
package struct RateLimit: Sendable, Hashable {
    /// The name of the limit, a part of every bucket's id, such as `signin.address`. Each limit has a different name.
    package let name: String
    /// The number of actions that may be done at once after a pause.
    package let burst: Int
    /// The time after which another action may be done, in whole milliseconds.
    package let interval: Duration
    /// True if the action waits for the counts of other processes. A high limit that only protects the store need not
    /// wait: each process decides by itself, and learns afterwards if the shared limiter rejects the cost.
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

/// One counter of a limit, for an address, a user or another subject.
package struct RateBucket: Sendable, Hashable {
    package let limit: RateLimit
    /// The SHA-256 of the limit's name and the parts, each preceded by its length, so that no two lists of parts give
    /// the same bytes (`ab`, `c` and `a`, `bc`). All ids have the same length, however long the client's input is, and
    /// do not contain the input.
    package let id: Digest256

    /// Creates the bucket of `limit` for the given parts, such as an address and a user.
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
