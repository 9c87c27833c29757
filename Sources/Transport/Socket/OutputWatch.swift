package import NIOCore

/// Watches whether a peer takes what was written for it. It may be slow: a peer that takes a few bytes between two looks
/// moves, however many are left.
///
/// It looks at what the peer's system has acknowledged (`ByteStream.unacknowledgedBytes`). The own system takes bytes in
/// lumps of a megabyte, for which a slow peer may need minutes.
package struct OutputWatch: Equatable, Sendable {
    /// The number of bytes that the peer had not taken at the last look.
    private var waiting = Int.max
    private var movedAt = NIODeadline.uptimeNanoseconds(0)
    /// Whether the peer took bytes between the last two looks.
    package private(set) var hasTaken = false

    /// The peer has its whole time from the first look on.
    package init() {}

    /// Looks again. True: the peer has taken bytes since the last look, or has nothing to take, or this is the first look.
    ///
    /// - Parameter waiting: The number of bytes that it has not taken.
    package mutating func moves(_ waiting: Int, now: NIODeadline) -> Bool {
        let hasMoved = waiting < self.waiting || waiting == 0
        if hasMoved { self.movedAt = now }
        self.hasTaken = waiting < self.waiting && self.waiting != .max
        self.waiting = waiting
        return hasMoved
    }

    /// Looks again. True: the peer has taken nothing for longer than `limit`.
    package mutating func isStuck(_ waiting: Int, now: NIODeadline, limit: TimeAmount) -> Bool {
        !self.moves(waiting, now: now) && now - self.movedAt > limit
    }
}
