import NIOCore

/// A request that waits while it is judged: for its session, a handoff, or an answer of an endpoint.
extension Exchange {
    func releaseWaiting() {
        if let head = self.waitingHead {
            self.loop.giveBack(head)
            self.waitingHead = nil
        }
        self.waitingBytes = nil
    }

    /// Waits for a future of this loop. Its result is ignored if the request has ended by then.
    func await<Value>(
        _ future: EventLoopFuture<Value>,
        _ then: @escaping (Exchange, Result<Value, any Error>) -> Void
    ) {
        let exchange = self.beginWaiting()
        future.assumeIsolated().whenComplete { if self.isWaiting(in: exchange) { then(self, $0) } }
    }

    /// From now on the request waits, in the exchange that is returned.
    func beginWaiting() -> UInt64 {
        self.phase = .waiting
        return self.exchangeNumber
    }

    /// Whether the same request still waits.
    func isWaiting(in exchange: UInt64) -> Bool { self.exchangeNumber == exchange && self.phase == .waiting }
}
