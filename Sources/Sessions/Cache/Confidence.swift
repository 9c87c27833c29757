/// Whether what the caches know may serve without asking the store again, counted by its changes.
///
/// What was read before a change is told from what was read after it by the count, and a loop that hears of two changes
/// in the wrong order keeps the later one.
struct Confidence: Sendable, Hashable, Comparable {
    /// Odd while all is doubted.
    private var changes: UInt64

    /// What is told of ends without a gap from the first.
    static let trusting = Confidence(changes: 0)
    /// What has yet to begin hearing of ends.
    static let doubting = Confidence(changes: 1)

    var isDoubting: Bool { self.changes % 2 == 1 }

    /// How many doubts have begun, the one of the beginning included.
    var doubts: Int { Int((self.changes + 1) / 2) }

    /// Begins a doubt or ends it.
    mutating func change() { self.changes += 1 }

    static func < (left: Confidence, right: Confidence) -> Bool { left.changes < right.changes }
}
