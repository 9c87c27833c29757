import NIOCore
import Sessions
import Vocabulary

/// A request that waits while it is judged: for its session, a handoff, or an answer of an endpoint.
extension Exchange {
    /// Goes on with a request that waited, with what it waited for.
    func resumeJudging(_ session: SessionState) {
        guard self.phase == .waiting, let head = self.waitingHead, let bytes = self.waitingBytes else { return }
        let step = bytes.withUnsafeReadableBytes { bytes -> Step in
            guard let base = bytes.baseAddress else { return .answer(.problem(400, .requestMalformed, closes: true)) }
            return self.judge(head, base.assumingMemoryBound(to: UInt8.self), session)
        }
        if !step.waits { self.releaseWaiting() }
        self.take(step)
        self.process()
    }

    func releaseWaiting() {
        if let head = self.waitingHead {
            self.loop.giveBack(head)
            self.waitingHead = nil
        }
        self.waitingBytes = nil
    }

    /// Does what judging came to.
    func take(_ step: Step) {
        switch step {
        case .forward:
            self.startExchange()
        case .answer(let answer):
            self.answer(answer)
        case .collect(let pending):
            self.beginCollecting(pending)
        case .session(let read, let credentials):
            self.await(read) { exchange, result in
                switch result {
                case .success(let session): exchange.resumeJudging(.resolved(session, credentials))
                case .failure: exchange.storeFailed()
                }
            }
        case .handoff(let request, let session):
            self.beginHandoff(request, session)
        case .existing(let read, let attempt):
            self.await(read) { exchange, result in
                switch result {
                case .success(let session): exchange.resumeJudging(.existing(session))
                case .failure: exchange.handoffFailed(.unavailable, attempt)
                }
            }
        }
    }

    /// Waits for a future of this loop. Its result is ignored if the request has ended by then.
    func await<Value>(
        _ future: EventLoopFuture<Value>,
        _ then: @escaping (Exchange, Result<Value, any Error>) -> Void
    ) {
        let exchange = self.beginWaiting()
        future.assumeIsolated().whenComplete { if self.isWaiting(in: exchange) { then(self, $0) } }
    }

    /// The same for a session, which no future brings: every request pays for it whose session is not in the cache.
    private func await(
        _ read: SessionRead,
        _ then: @escaping (Exchange, Result<CachedSession?, StoreError>) -> Void
    ) {
        let exchange = self.beginWaiting()
        read.whenFound { if self.isWaiting(in: exchange) { then(self, $0) } }
    }

    /// From now on the request waits, in the exchange that is returned.
    func beginWaiting() -> UInt64 {
        self.phase = .waiting
        return self.exchangeNumber
    }

    /// Whether the same request still waits.
    func isWaiting(in exchange: UInt64) -> Bool { self.exchangeNumber == exchange && self.phase == .waiting }

    func storeFailed() {
        self.releaseWaiting()
        self.answer(.problem(503, .storeUnavailable, requestID: self.facts.requestID))
        self.process()
    }
}
