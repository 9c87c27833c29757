/// A group of ends on its way through the entries of a table, a few at a time. Until it is over, an entry learns of its
/// end when it is looked up (`SessionTable.tell`), so what the group ends does not serve.
final class EndSweep {
    let endings: Endings
    /// How many sweeps of the cache began before this one.
    private let number: Int
    /// The position in `endings.invalidations` of the end whose entries are being removed.
    var position = 0

    init(_ endings: Endings, number: Int) {
        self.endings = endings
        self.number = number
    }

    /// Whether the session was read after the ends came: they do not concern it.
    func precedes(_ entry: CachedSession) -> Bool { entry.sweepsBefore > self.number }

    /// Tells the entry what the group makes of it.
    func tell(_ entry: CachedSession) {
        guard !self.precedes(entry), let state = self.endings.state(of: entry) else { return }
        entry.leave(as: state)
    }
}
