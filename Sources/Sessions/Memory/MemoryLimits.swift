import Synchronization
internal import Vocabulary

/// A counted supply of places: what holds one gives it back when it goes.
final class Places: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { self.taken.load(ordering: .relaxed) }

    /// Takes so many places, or none; false when fewer are left.
    func take(_ count: Int = 1) -> Bool {
        var current = self.taken.load(ordering: .relaxed)
        while current + count <= self.limit {
            let (exchanged, original) = self.taken.weakCompareExchange(
                expected: current,
                desired: current + count,
                ordering: .relaxed
            )
            if exchanged { return true }
            current = original
        }
        return false
    }

    func giveBack(_ count: Int = 1) {
        self.taken.subtract(count, ordering: .relaxed)
    }
}

/// What the shards of one memory store share: its bounds, and how long it remembers what has ended.
final class MemoryLimits: Sendable {
    /// The least that an end is remembered: longer than any token or request that was judged before it.
    static let leastMemory = Duration.seconds(300)

    let sessions: Places
    /// Single-use records and markers together: a record holds the place that its marker will take, so no consumption can
    /// fail for want of one.
    let markers: Places
    /// Replaceable records: as many as sessions.
    let replaceables: Places
    /// Ids that were presented once: as many as markers, and apart from them, so that no client can fill the one with the
    /// other.
    let onces: Places
    /// Ends remembered for as long as a session of theirs might have lived.
    let ends: Places
    private let versions = Atomic<UInt64>(0)

    init(maxSessions: Int, maxMarkers: Int) {
        self.sessions = Places(limit: maxSessions)
        self.markers = Places(limit: maxMarkers)
        self.replaceables = Places(limit: maxSessions)
        self.onces = Places(limit: maxMarkers)
        self.ends = Places(limit: maxMarkers)
    }

    func newVersion() -> UInt64 {
        self.versions.add(1, ordering: .relaxed).newValue
    }

    /// Until when an end at `now` is remembered, and whether it holds a place for that.
    ///
    /// An end must never fail, so when the places are gone it is remembered for the least time only. That is enough: the
    /// records themselves are deleted with the end, and only what was judged before it and written after it needs to
    /// meet the memory of it.
    func memoryOfEnd(at now: UnixTime, bornUntil: UnixTime) -> (until: UnixTime, holdsPlace: Bool) {
        guard self.ends.take() else { return (now.advanced(by: Self.leastMemory), false) }
        return (max(bornUntil, now.advanced(by: SingleUse.markerLife)), true)
    }
}
