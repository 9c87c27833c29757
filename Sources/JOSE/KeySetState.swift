import Vocabulary

/// What a cache of one issuer's key set knows, and what it does next. A value without I/O; `JWKSetCache` acts on it.
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
        /// A set that holds a key of this `kid`, for this algorithm.
        ///
        /// - Parameter algorithm: nil: for any.
        case key(String, JWSAlgorithm?)
        /// A set that was read after the one of this number.
        case newer(than: Int)
    }

    enum Step {
        /// Use this set: there is none better for now. nil: there is none.
        ///
        /// - Parameter isFinal: Whether the issuer has said so since the caller asked; else it may have what the caller
        ///   needs, and must not be asked now.
        case use(JWKSet?, isFinal: Bool)
        /// Use this set, and read it again without waiting.
        case useAndFetch(JWKSet)
        /// Read the set, wait, and ask again.
        case fetch
        /// Wait for the fetch that runs, and ask again.
        case join
    }

    /// How many fetches that are to find a key may begin within the cool-down: strangers can cause them, and one of theirs
    /// must not keep a new key from being found.
    static let mostSeeks = 4

    /// How old a set may be before it must be read again.
    static let maxAge = Duration.seconds(600)
    /// The time within which at most `mostSeeks` fetches look for a key.
    static let coolDown = Duration.seconds(30)
    /// How old the last good set may be while the issuer cannot be reached.
    static let maxStale = Duration.seconds(86_400)

    private(set) var set: JWKSet?
    /// Counts the sets that differ from the one before.
    private(set) var number = 0
    private var readAt = UnixTime(milliseconds: 0)
    private var failures = 0
    private var failedAt = UnixTime(milliseconds: 0)
    /// When the last fetches began that were to find a key, at most `mostSeeks`, the oldest first.
    private var soughtAt: [UnixTime] = []
    private var isFetching = false

    /// The set, if it can be used at once for this need.
    func ready(for need: Need, now: UnixTime) -> JWKSet? {
        guard let set, self.isCurrent(now), self.meets(need) else { return nil }
        return set
    }

    /// The next step of a caller; marks the fetch that it may begin.
    ///
    /// - Parameter hasFetched: Whether a fetch that this caller began has ended.
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
            // The set is good, and the key is missing: the issuer may have published it since.
            guard self.maySeek(now) else { return .use(best, isFinal: false) }
            if self.soughtAt.count == Self.mostSeeks { self.soughtAt.removeFirst() }
            self.soughtAt.append(now)
        } else if !self.mayRetry(now) {
            return .use(best, isFinal: false)
        }
        self.isFetching = true
        return .fetch
    }

    /// Takes the set that a fetch has read.
    mutating func take(_ set: JWKSet, now: UnixTime) {
        if self.set?.keys != set.keys { self.number += 1 }
        self.set = set
        self.readAt = now
        self.failures = 0
        self.isFetching = false
    }

    /// Notes that a fetch failed.
    mutating func fail(now: UnixTime) {
        self.failures += 1
        self.failedAt = now
        self.isFetching = false
    }

    /// Whether a fetch for a key that is not in the set may begin, or runs.
    func isSeekable(_ now: UnixTime) -> Bool { self.isFetching || self.maySeek(now) }

    private func maySeek(_ now: UnixTime) -> Bool {
        guard self.mayRetry(now) else { return false }
        guard self.soughtAt.count == Self.mostSeeks, let first = self.soughtAt.first else { return true }
        return now.since(first) >= Self.coolDown
    }

    /// Whether the set needs no fetch before it is used: it is young, or the issuer cannot be reached, as a fetch in the
    /// last `maxAge` has shown.
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

    /// After a failure there is a pause: the cool-down while a set can be used, else it grows from a second to the
    /// cool-down, so that service comes back soon.
    private func mayRetry(_ now: UnixTime) -> Bool {
        guard self.failures > 0 else { return true }
        let isUsable = self.set != nil && now.since(self.readAt) <= Self.maxStale
        let pause = isUsable ? Self.coolDown : min(Self.coolDown, .seconds(1 << min(self.failures - 1, 16)))
        return now.since(self.failedAt) >= pause
    }
}
