package import Cryptography
package import NIOCore

/// Counts what must not be done too often (sign-in, minting) by the generic cell rate algorithm: so much at once, then
/// one more each interval. A bucket is one number, the time at which it will be empty again; what is refused fills nothing.
package protocol RateLimiter: Sendable {
    /// Fills `cost` into all of the buckets if each has room for all of it, else into none.
    ///
    /// A failure is `StoreError.unavailable`: nobody could count, so nothing may be done.
    ///
    /// - Parameters:
    ///   - buckets: Each of another limit.
    ///   - cost: What is done in units of each limit, 1 to the least burst.
    func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision>

    /// Takes back what was allowed, because it was not done: the gateway could not serve it. A bucket has then let through
    /// no more than its limit, whatever else was counted in it meanwhile. Losing this only leaves the bucket as full as it
    /// is.
    ///
    /// - Parameter cost: What these buckets were filled with; each time once.
    func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Empties the bucket: the last try has shown that the tries before it were no attack. Losing this only leaves the
    /// bucket as full as it is.
    func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension RateLimiter {
    /// `allow` for one bucket.
    package func allow(_ bucket: RateBucket, cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
        self.allow([bucket], cost: cost, on: loop)
    }
}

/// What a rate limiter says.
package enum RateDecision: Sendable, Hashable {
    /// There was room, and it is taken.
    case allowed
    /// There is none; the same cost will fit after so long: into the last of the buckets that have no room.
    case throttled(retryAfter: Duration)
}

/// How often something may be done.
package struct RateLimit: Sendable, Hashable {
    /// Part of every bucket's id, e.g. `signin.address`; no two limits have the same.
    package let name: String
    /// How much may be done at once after a rest.
    package let burst: Int
    /// The time after which one more may be done, in whole milliseconds.
    package let interval: Duration

    package init(_ name: String, burst: Int, interval: Duration) {
        precondition(burst > 0 && interval >= .milliseconds(1), "nothing could ever be allowed, or nothing refused")
        self.name = name
        self.burst = burst
        self.interval = interval
    }

    /// The time in which a full bucket runs empty.
    package var drainTime: Duration { self.interval * self.burst }
}

/// What is counted together: a limit, and whom or what it is kept for.
package struct RateBucket: Sendable, Hashable {
    package let limit: RateLimit
    /// SHA-256 of the limit's name and the parts, each after its length, so that no two lists of parts are the same bytes
    /// (`ab`, `c` and `a`, `bc`). Buckets are of one size, however long what the client typed, and hold nothing of it.
    package let id: Digest256

    /// The bucket of `limit` for what `parts` name, e.g. an address and a user.
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
