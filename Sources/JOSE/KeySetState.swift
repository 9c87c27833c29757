import Vocabulary

/// The state of a cache for one issuer's key set. It chooses the next step, and `JWKSetCache` does the I/O.
///
/// ```
/// age of the set:  0 ------------ 4/5 maxAge ------------ maxAge ---------------------- maxStale
///                  used as it is   used, and read again    read again before it is      not used
///                                  in the background       used; used as it is while
///                                                          the issuer cannot be reached
/// ```
struct KeySetState {
    enum Need: Sendable, Equatable {
        case any
        /// A set that contains a key with this `kid` for this algorithm.
        ///
        /// - Parameter algorithm: The algorithm; `nil` for any.
        case key(String, JWSAlgorithm?)
        /// A set with a higher `number`: its keys have changed.
        case newer(than: Int)
    }

    enum Step {
        /// Use this set, the best that is available now; `nil` if there is no set.
        ///
        /// - Parameter isFinal: True if the set meets the need, or the issuer was just asked and has no better set. If
        ///   false, the issuer may have a better set, but cannot be asked now.
        case use(JWKSet?, isFinal: Bool)
        /// Use this set, and refresh it without waiting.
        case useAndFetch(JWKSet)
        /// Fetch the set, wait, and ask again.
        case fetch
        /// Wait for the running fetch, and ask again.
        case join
    }

    /// The maximum number of fetches for a missing key within the cool-down. With a limit of one, a forged token could
    /// keep the gateway from finding a new key.
    static let maxKeyFetches = 4

    /// The age at which a set must be read again.
    static let maxAge = Duration.seconds(600)
    /// The time in which at most `maxKeyFetches` fetches for a missing key begin.
    static let coolDown = Duration.seconds(30)
    /// The maximum age of the last valid set while the issuer cannot be reached.
    static let maxStale = Duration.seconds(86_400)

    private(set) var set: JWKSet?
    /// The number of times that the keys of the set have changed.
    private(set) var number = 0
    private var readAt = UnixTime(milliseconds: 0)
    private var failures = 0
    private var failedAt = UnixTime(milliseconds: 0)
    /// The start times of the last fetches that looked for a key, at most `maxKeyFetches`, the oldest first.
    private var keyFetchedAt: [UnixTime] = []
    private var isFetching = false

    /// Returns the set; `nil` if it cannot be used at once for this need.
    func ready(for need: Need, now: UnixTime) -> JWKSet? {
        guard let set, self.isCurrent(now), self.meets(need) else { return nil }
        return set
    }

    /// Returns the next step of a caller, and records the fetch that the caller must begin.
    ///
    /// - Parameter hasFetched: True if a fetch that this caller began has ended.
    mutating func step(for need: Need, now: UnixTime, hasFetched: Bool) -> Step {
        if let set = self.ready(for: need, now: now) {
            let isAging = now.since(self.readAt) >= Self.maxAge * 4 / 5
            guard isAging, !self.isFetching, self.mayRetry(now) else { return .use(set, isFinal: true) }
            self.isFetching = true
            return .useAndFetch(set)
        }
        let best = now.since(self.readAt) <= Self.maxStale ? self.set : nil
        if hasFetched { return .use(best, isFinal: self.failures == 0) }
        if self.isFetching { return .join }
        if self.isCurrent(now) {
            // The set is valid, but does not meet the need: the issuer may have published a new key since.
            guard self.maySeek(now) else { return .use(best, isFinal: false) }
            if self.keyFetchedAt.count == Self.maxKeyFetches { self.keyFetchedAt.removeFirst() }
            self.keyFetchedAt.append(now)
        } else if !self.mayRetry(now) {
            return .use(best, isFinal: false)
        }
        self.isFetching = true
        return .fetch
    }

    /// Stores the set that a fetch has read.
    mutating func take(_ set: JWKSet, now: UnixTime) {
        if self.set?.keys != set.keys { self.number += 1 }
        self.set = set
        self.readAt = now
        self.failures = 0
        self.isFetching = false
    }

    mutating func fail(now: UnixTime) {
        self.failures += 1
        self.failedAt = now
        self.isFetching = false
    }

    /// Returns whether a fetch is running, or a fetch for a key that is not in the set may begin.
    func mayFetchKey(_ now: UnixTime) -> Bool { self.isFetching || self.maySeek(now) }

    private func maySeek(_ now: UnixTime) -> Bool {
        guard self.mayRetry(now) else { return false }
        guard self.keyFetchedAt.count == Self.maxKeyFetches, let first = self.keyFetchedAt.first else { return true }
        return now.since(first) >= Self.coolDown
    }

    /// Returns whether the set can be used without a fetch: it is young, or it is at most `maxStale` old and a fetch
    /// within the last `maxAge` has shown that the issuer cannot be reached.
    private func isCurrent(_ now: UnixTime) -> Bool {
        guard self.set != nil else { return false }
        let age = now.since(self.readAt)
        if age <= Self.maxAge { return true }
        return age <= Self.maxStale && self.failures > 0 && now.since(self.failedAt) <= Self.maxAge
    }

    private func meets(_ need: Need) -> Bool {
        switch need {
        case .any: self.set != nil
        case .key(let keyID, let algorithm): self.set?.holds(keyID, for: algorithm) ?? false
        case .newer(let number): self.number > number
        }
    }

    /// Returns whether the pause after a failure is over. While a set can be used, the pause is the cool-down.
    /// Otherwise it grows from a second to the cool-down, so that service resumes soon.
    private func mayRetry(_ now: UnixTime) -> Bool {
        guard self.failures > 0 else { return true }
        let isUsable = self.set != nil && now.since(self.readAt) <= Self.maxStale
        let pause = isUsable ? Self.coolDown : min(Self.coolDown, .seconds(1 << min(self.failures - 1, 16)))
        return now.since(self.failedAt) >= pause
    }
}
