/// A group of ends that is applied to the entries of a table, a few at a time. Until the sweep is over, an entry learns
/// of its end when it is looked up (`SessionTable.mark`), so an ended entry is not used.
final class EndSweep {
    let endings: Endings
    /// The number of sweeps of the cache that began before this sweep.
    private let number: Int
    /// The position in `endings.invalidations` of the end whose entries are being removed.
    var position = 0

    init(_ endings: Endings, number: Int) {
        self.endings = endings
        self.number = number
    }

    /// Reports whether the session was read after the ends came, so that the ends do not concern it.
    func precedes(_ entry: CachedSession) -> Bool { entry.sweepsBefore > self.number }

    /// Marks the entry as ended or changed if one of the ends concerns it.
    func mark(_ entry: CachedSession) {
        guard !self.precedes(entry), let state = self.endings.state(of: entry) else { return }
        entry.leave(as: state)
    }
}
