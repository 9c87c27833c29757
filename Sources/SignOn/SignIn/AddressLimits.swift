package import AddressIntelligence
package import NIOCore
package import Sessions
package import Vocabulary

/// The sign-in tries that rate limits have counted for an address. Operators can see and clear the counts.
package struct AddressLimits: StoreCaller {
    /// The state of one bucket.
    package struct Count: Sendable, Equatable {
        /// The limit's name, e.g. `signin.address`.
        package let limit: String
        /// The number of tries in the bucket now.
        package let used: Int
        /// The capacity of the bucket.
        package let burst: Int
        /// The time until the next try is allowed. Zero if a try is allowed now.
        package let wait: Duration
    }

    let store: any RateLimiter
    let loops: any EventLoopGroup

    /// - Parameter loops: The loops on which the limiter is called.
    package init(limiter: any RateLimiter, loops: any EventLoopGroup) {
        self.store = limiter
        self.loops = loops
    }

    /// Returns the counts of an address, and of one account's tries from this address.
    ///
    /// - Parameter account: The account as the user types it. `nil` for the counts of the address only.
    package func counts(of address: IPAddress, account: String?) async throws(NotDone) -> [Count] {
        var counts: [Count] = []
        for bucket in Self.buckets(of: address, account: account) {
            let drain = try await self.ask { limiter, loop in limiter.drainTime(of: bucket, on: loop) }
            counts.append(Count(bucket.limit, drain))
        }
        return counts
    }

    /// Clears the counts. With Redis, the local counts of other gateways remain.
    package func clear(_ address: IPAddress, account: String?) async throws(NotDone) {
        for bucket in Self.buckets(of: address, account: account) {
            try await self.ask { limiter, loop in limiter.forgive(bucket, on: loop) }
        }
    }

    private static func buckets(of address: IPAddress, account: String?) -> [RateBucket] {
        let key = Array(address.key.description.utf8)
        let user = account.flatMap { UserIdentifier($0) }
        let tries = SignInLimits(address: address, user: user, isFamiliar: false).tries.filter { bucket in
            account != nil || !SignInLimits.countsUsers(bucket.limit)
        }
        return tries
            + [
                IDTokenSignIns.perAddress, BrowserSignInFlow.perAddress, NativeSignIns.perAddress,
                NativeSignIns.exchangesPerAddress,
            ].map { RateBucket($0, key) }
    }
}

extension AddressLimits.Count {
    init(_ limit: RateLimit, _ drain: Duration) {
        self.limit = limit.name
        self.burst = limit.burst
        // A partly drained try is counted as a whole.
        self.used = Int(((drain + limit.interval - .milliseconds(1)) / limit.interval).rounded(.down))
        self.wait = max(drain + limit.interval - limit.drainTime, .zero)
    }
}
