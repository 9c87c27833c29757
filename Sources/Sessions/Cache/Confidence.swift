/// Whether the caches receive all ends (trust) or may miss some (doubt), as the number of changes between the two.
///
/// The number tells a read before a change from a read after it. If changes reach a loop in the wrong order, the higher
/// number wins.
struct Confidence: Sendable, Hashable, Comparable {
    /// The number of changes. It is odd during a doubt.
    private var changes: UInt64

    /// The initial state if no end can be missed.
    static let trusting = Confidence(changes: 0)
    /// The initial state if ends are not received yet.
    static let doubting = Confidence(changes: 1)

    var isDoubting: Bool { self.changes % 2 == 1 }

    /// The number of doubts that have begun, including an initial one.
    var doubts: Int { Int((self.changes + 1) / 2) }

    /// Begins or ends a doubt.
    mutating func change() { self.changes += 1 }

    static func < (left: Confidence, right: Confidence) -> Bool { left.changes < right.changes }
}
