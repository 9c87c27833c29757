package import Cryptography
package import NIOCore

/// Limits the rate of an action, such as sign-in, by the generic cell rate algorithm. A burst of actions is allowed at
/// once, then one action per interval. A bucket stores one number: the time when it will be empty.
package protocol RateLimiter: Sendable {
    /// Adds `cost` to all buckets if each has room for it; otherwise to none.
    ///
    /// Fails with `StoreError.unavailable` if the cost could not be counted. The caller must then deny the action. A
    /// limit that is not awaited (`isAwaited`) is decided by this process alone.
    ///
    /// - Parameters:
    ///   - buckets: At most one bucket of each limit.
    ///   - cost: The cost in units of each limit, from 1 to the smallest burst.
    func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision>

    /// Takes back an allowed cost because the gateway could not serve the request. If the call is lost, the bucket
    /// keeps the cost.
    ///
    /// - Parameter cost: The cost that `allow` added to these buckets. It may be given back once.
    func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Empties the bucket, because a successful attempt shows that the earlier attempts were no attack. If the call is
    /// lost, the bucket drains as usual.
    func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Returns the time until the bucket is empty if nothing is added; zero if it is empty. The call adds nothing.
    func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration>
}

/// The decision of a rate limiter.
package enum RateDecision: Sendable, Hashable {
    /// There was room, and the cost was added.
    case allowed
    /// There is no room. `retryAfter` is the time until there is room for the cost in every bucket.
    case throttled(retryAfter: Duration)
}

/// The rate at which an action may be done.
package struct RateLimit: Sendable, Hashable {
    /// The name of the limit, such as `signin.address`. Each limit has a different name.
    package let name: String
    /// The number of actions that are allowed at once after a pause.
    package let burst: Int
    /// The time after which another action is allowed, in whole milliseconds.
    package let interval: Duration
    /// True if the action waits for the shared limiter. Otherwise, this process decides by its own counts, and learns
    /// later if the shared limiter rejects the cost.
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

/// A counter of a limit for one address, user or other subject.
package struct RateBucket: Sendable, Hashable {
    package let limit: RateLimit
    /// The SHA-256 of the limit's name and the parts. Each is preceded by its length, so different lists have different
    /// ids. The id has a fixed length and hides the client's input.
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
