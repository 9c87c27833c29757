import Synchronization
import Vocabulary

/// A counted supply of places: a record that holds one gives it back when it is removed.
final class Places: Sendable {
    let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { self.taken.load(ordering: .relaxed) }

    /// Takes this many places, or none; false when fewer are left.
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

/// The limits that the shards of one memory store share, and how long it remembers ends.
final class MemoryLimits: Sendable {
    /// The minimum time for which an end is remembered: longer than any token or request that was judged before it.
    static let leastMemory = Duration.seconds(300)

    let sessions: Places
    /// Single-use records and markers together: a record holds the place that its marker will take, so that no
    /// consumption can fail for lack of room.
    let markers: Places
    /// Replaceable records: as many places as for sessions.
    let replaceables: Places
    /// Ids that were presented once: as many places as for markers, but separate, so that a client cannot use up one
    /// kind's places with the other.
    let onces: Places
    /// Ends remembered for as long as a session that they ended could have lived.
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

    /// Until when an end at `now` is remembered, and whether it holds a place until then.
    ///
    /// An end must never fail, so when no place is left, it is remembered for the minimum time only. That is enough:
    /// the records themselves are deleted with the end, and only a write that was judged before the end and made after
    /// it needs to find the end remembered.
    func memoryOfEnd(at now: UnixTime, bornUntil: UnixTime) -> (until: UnixTime, holdsPlace: Bool) {
        guard self.ends.take() else { return (now.advanced(by: Self.leastMemory), false) }
        return (max(bornUntil, now.advanced(by: SingleUse.markerLife)), true)
    }
}
