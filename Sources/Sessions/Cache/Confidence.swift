/// The caches' confidence that they receive all ends and may use their entries without asking the store. It is stored
/// as the number of changes between trust and doubt.
///
/// The count distinguishes a read before a change from a read after it. A loop that gets two changes in the wrong order
/// keeps the later one.
struct Confidence: Sendable, Hashable, Comparable {
    /// The number of changes. It is odd while everything is doubted.
    private var changes: UInt64

    /// The initial state if ends are received without a gap from the start.
    static let trusting = Confidence(changes: 0)
    /// The initial state if ends are not received yet.
    static let doubting = Confidence(changes: 1)

    var isDoubting: Bool { self.changes % 2 == 1 }

    /// The number of doubts that have begun, including the initial one.
    var doubts: Int { Int((self.changes + 1) / 2) }

    /// Begins or ends a doubt.
    mutating func change() { self.changes += 1 }

    static func < (left: Confidence, right: Confidence) -> Bool { left.changes < right.changes }
}
