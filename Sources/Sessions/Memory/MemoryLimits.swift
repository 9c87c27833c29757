import Synchronization
import Vocabulary

/// A limited supply of places. A record that holds a place gives it back when the record is removed.
final class Places: Sendable {
    let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { self.taken.load(ordering: .relaxed) }

    /// Takes `count` places and returns true, or takes none if fewer are left.
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

/// The limits that the shards of one memory store share, and the time for which the store remembers ends.
final class MemoryLimits: Sendable {
    /// The minimum time for which an end is remembered. A token or request that was judged before the end does not last
    /// longer.
    static let leastMemory = Duration.seconds(300)

    let sessions: Places
    /// The places of single-use records and markers. A record already holds the place of its marker, so that no use
    /// fails because the store is full.
    let markers: Places
    /// The places of replaceable records, as many as for sessions.
    let replaceables: Places
    /// The places of ids that were presented once. There are as many as for markers, but they are separate, so that
    /// neither kind can use up the places of the other.
    let onces: Places
    /// The places of ends that are remembered for as long as a session that they ended could have lived.
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

    /// Returns the time until which an end at `now` is remembered, and whether the end holds a place until then.
    ///
    /// An end must never fail. If no place is left, the end is remembered for the minimum time only. That is enough:
    /// the records themselves are deleted with the end. Only a write that was judged before the end and made after it
    /// needs to find the end.
    func memoryOfEnd(at now: UnixTime, bornUntil: UnixTime) -> (until: UnixTime, holdsPlace: Bool) {
        guard self.ends.take() else { return (now.advanced(by: Self.leastMemory), false) }
        return (max(bornUntil, now.advanced(by: SingleUse.markerLife)), true)
    }
}
