import Synchronization
import Vocabulary

/// A limited supply of places. A record holds a place until the record is removed.
final class Places: Sendable {
    let limit: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { self.taken.load(ordering: .relaxed) }

    /// Takes `count` places and returns true. Takes none if fewer are free.
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

/// The limits of one memory store, which its shards share.
final class MemoryLimits: Sendable {
    /// The minimum time for which the end of a lineage or subject is remembered. A write that was decided before the
    /// end arrives within this time, while the store still knows of the end.
    static let leastMemory = Duration.seconds(300)

    let sessions: Places
    /// The places of single-use records and their markers. A marker takes over its record's place, so no use fails for
    /// lack of room.
    let markers: Places
    /// The places of replaceable records. Their limit is that of sessions.
    let replaceables: Places
    /// The places of ids that must not be presented again, such as `jti`. Their limit is that of markers.
    let onces: Places
    /// The places of ends that are remembered for longer than `leastMemory`.
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

    /// Returns until when an end at `now` is remembered, and whether it holds a place until then. Without a free place,
    /// it is remembered for `leastMemory`.
    ///
    /// - Parameter bornUntil: With a place, the end is remembered at least until then.
    func memoryOfEnd(at now: UnixTime, bornUntil: UnixTime) -> (until: UnixTime, holdsPlace: Bool) {
        guard self.ends.take() else { return (now.advanced(by: Self.leastMemory), false) }
        return (max(bornUntil, now.advanced(by: SingleUse.markerLife)), true)
    }
}
