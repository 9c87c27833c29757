package import AddressIntelligence
package import NIOCore
package import Sessions
package import Vocabulary

/// What is counted against an address when somebody signs in there, for operators: how full it is, and emptied at once.
package struct AddressLimits: StoreCaller {
    /// One bucket.
    package struct Count: Sendable, Equatable {
        /// The limit's name, e.g. `signin.address`.
        package let limit: String
        /// How many are counted now.
        package let used: Int
        /// How many may be.
        package let burst: Int
        /// When the next one is allowed; zero: now.
        package let wait: Duration
    }

    let store: any RateLimiter
    let loops: any EventLoopGroup

    /// - Parameter loops: The loops on which the limiter is called.
    package init(limiter: any RateLimiter, loops: any EventLoopGroup) {
        self.store = limiter
        self.loops = loops
    }

    /// The counts of an address, and of an account that is tried from there. There is no limit of an account alone.
    ///
    /// - Parameter account: As the user types it; nil: only what is counted for all accounts together.
    package func counts(of address: IPAddress, account: String?) async throws(NotDone) -> [Count] {
        var counts: [Count] = []
        for bucket in Self.buckets(of: address, account: account) {
            let drain = try await self.ask { limiter, loop in limiter.drainTime(of: bucket, on: loop) }
            counts.append(Count(bucket.limit, drain))
        }
        return counts
    }

    /// Empties them. With Redis, other gateways still count by themselves what was tried there.
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
        // The part of one that has drained counts as a whole.
        self.used = Int(((drain + limit.interval - .milliseconds(1)) / limit.interval).rounded(.down))
        self.wait = max(drain + limit.interval - limit.drainTime, .zero)
    }
}
