/// A group of ends that is applied to a table's entries, a few at a time. An entry that the sweep has not reached is
/// marked when it is looked up (`SessionTable.mark`), so no ended entry is used.
final class EndSweep {
    let endings: Endings
    /// The number of sweeps of the cache that began before this one.
    private let number: Int
    /// The index in `endings.invalidations` of the end that is being applied.
    var position = 0

    init(_ endings: Endings, number: Int) {
        self.endings = endings
        self.number = number
    }

    /// Reports whether the entry was made after the sweep began, so the ends do not concern it.
    func precedes(_ entry: CachedSession) -> Bool { entry.sweepsBefore > self.number }

    /// Marks the entry as ended or changed if an end of the sweep concerns it.
    func mark(_ entry: CachedSession) {
        guard !self.precedes(entry), let state = self.endings.state(of: entry) else { return }
        entry.leave(as: state)
    }
}
