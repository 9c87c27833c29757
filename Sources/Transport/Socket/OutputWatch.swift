package import NIOCore

/// Watches whether a peer accepts the bytes that were written for it. A peer may be slow: it makes progress if it
/// accepts a few bytes between two checks, however many remain.
///
/// The watch uses the acknowledgements of the peer's system (`ByteStream.unacknowledgedBytes`). The local system
/// accepts bytes in chunks of a megabyte, which a slow peer may need minutes to receive.
package struct OutputWatch: Equatable, Sendable {
    /// The number of bytes that the peer had not accepted at the last check.
    private var waiting = Int.max
    private var movedAt = NIODeadline.uptimeNanoseconds(0)
    /// Whether the peer accepted bytes between the last two checks.
    package private(set) var hasTaken = false

    /// Makes a watch. The peer's time limit begins with the first check.
    package init() {}

    /// Checks again. True if the peer accepted bytes since the last check, has none to accept, or is new.
    ///
    /// - Parameter waiting: The number of bytes that the peer has not accepted.
    package mutating func moves(_ waiting: Int, now: NIODeadline) -> Bool {
        let hasMoved = waiting < self.waiting || waiting == 0
        if hasMoved { self.movedAt = now }
        self.hasTaken = waiting < self.waiting && self.waiting != .max
        self.waiting = waiting
        return hasMoved
    }

    /// Checks again. True if the peer has accepted nothing for longer than `limit`.
    package mutating func isStuck(_ waiting: Int, now: NIODeadline, limit: TimeAmount) -> Bool {
        !self.moves(waiting, now: now) && now - self.movedAt > limit
    }
}
