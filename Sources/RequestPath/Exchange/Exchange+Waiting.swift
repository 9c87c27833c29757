import NIOCore

/// Waits for a session, a handoff, the check of a DPoP proof, or the answer of an endpoint.
extension Exchange {
    func releaseWaiting() {
        if let head = self.waitingHead {
            self.loop.giveBack(head)
            self.waitingHead = nil
        }
        if let bytes = self.waitingBytes.take() { self.loop.giveBack(bytes) }
    }

    /// Waits for a future of this loop. Calls `then` with the result unless the exchange has ended.
    func await<Value>(
        _ future: EventLoopFuture<Value>,
        _ then: @escaping (Exchange, Result<Value, any Error>) -> Void
    ) {
        let exchange = self.beginWaiting()
        future.assumeIsolated().whenComplete { if self.isWaiting(in: exchange) { then(self, $0) } }
    }

    /// Begins to wait, and returns the number of the exchange.
    func beginWaiting() -> UInt64 {
        self.phase = .waiting
        return self.exchangeNumber
    }

    /// Returns true if the exchange with this number is still waiting.
    func isWaiting(in exchange: UInt64) -> Bool { self.exchangeNumber == exchange && self.phase == .waiting }
}
