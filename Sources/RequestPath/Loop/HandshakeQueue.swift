/// A client whose TLS handshake begins when the loop has time for it.
package protocol AwaitedHandshake: AnyObject {
    /// Begins the handshake.
    func shakeHands()
}

/// Begins a few handshakes in each turn of a loop, so that other connections do not wait long. A handshake takes about
/// a fifth of a millisecond.
package final class HandshakeQueue {
    package static let perTurn = 8

    private var begun = 0
    private var waiting: [any AwaitedHandshake] = []

    package init() {}

    /// Begins the handshake now and returns true, or queues it for one of the next turns and returns false.
    package func begin(_ handshake: any AwaitedHandshake) -> Bool {
        // The handshake must not overtake the handshakes in the queue.
        guard self.begun < Self.perTurn, self.waiting.isEmpty else {
            self.waiting.append(handshake)
            return false
        }
        self.begun += 1
        handshake.shakeHands()
        return true
    }

    /// Resets the number of handshakes begun in the turn. Called at the end of the turn.
    ///
    /// - Returns: True if handshakes wait for the next turn.
    package func turnEnded() -> Bool {
        self.begun = 0
        return !self.waiting.isEmpty
    }

    /// Begins waiting handshakes, as many as a turn allows.
    package func goOn() {
        let turn = self.waiting.prefix(Self.perTurn)
        self.waiting.removeFirst(turn.count)
        for handshake in turn {
            self.begun += 1
            handshake.shakeHands()
        }
    }
}
