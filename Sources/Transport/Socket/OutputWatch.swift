package import NIOCore

/// Detects peers that no longer accept the bytes written for them. A peer makes progress if it accepts any bytes
/// between two checks.
///
/// Progress is measured by the acknowledgements of the peer's system (`ByteStream.unacknowledgedBytes`), because the
/// local system buffers a megabyte, which a slow peer may need minutes to receive.
package struct OutputWatch: Equatable, Sendable {
    /// The number of bytes that the peer had not accepted at the last check.
    private var waiting = Int.max
    private var movedAt = NIODeadline.uptimeNanoseconds(0)
    /// True if the peer accepted bytes between the last two checks.
    package private(set) var hasTaken = false

    /// Makes a watch. The peer's time limit begins with the first check.
    package init() {}

    /// Returns true if the peer accepted bytes since the last check or has no bytes to accept, and at the first check.
    ///
    /// - Parameter waiting: The number of bytes that the peer has not accepted.
    package mutating func moves(_ waiting: Int, now: NIODeadline) -> Bool {
        let hasMoved = waiting < self.waiting || waiting == 0
        if hasMoved { self.movedAt = now }
        self.hasTaken = waiting < self.waiting && self.waiting != .max
        self.waiting = waiting
        return hasMoved
    }

    /// Returns true if the peer has accepted none of the waiting bytes for longer than `limit`.
    package mutating func isStuck(_ waiting: Int, now: NIODeadline, limit: TimeAmount) -> Bool {
        !self.moves(waiting, now: now) && now - self.movedAt > limit
    }
}
