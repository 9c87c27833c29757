package import NIOCore
import Vocabulary

/// Measures how fast the client reads and sends, four times a second while the app has many requests in flight.
extension Exchange: LoopRequest {
    /// Measures the bytes that the client has accepted and sent.
    func notePace(_ now: NIODeadline) {
        guard self.phase == .exchange || self.phase == .tunnel, let stream = self.stream else { return }
        let waiting = self.facts.hasBegunAnswer ? stream.waitingBytes : 0
        let taken = max(0, self.record.bytesOut - waiting)
        let moved = taken &+ self.record.bytesIn &+ self.facts.tunnelInput
        let known = self.pace.flatMap { $0.exchange == self.exchangeNumber ? $0 : nil }
        var pace = known ?? ClientPace(of: self.exchangeNumber, moved: moved, since: self.facts.lastProgress)
        pace.look(moved, waiting > 0 ? .client : self.debt, now: now)
        self.pace = pace
    }

    /// Who keeps the app's connection busy if no bytes wait for the client.
    private var debt: ClientPace.Debt {
        if self.tunnel != nil { return .nobody }
        if !self.facts.isRequestWhole {
            // The client need not send while the app does not accept the body.
            guard self.upstream?.isWritable == true else { return .none }
            return self.facts.hasSizedBody ? .client : .nobody
        }
        return self.facts.hasBegunAnswer && self.facts.isEventStream ? .nobody : .none
    }

    package func stall(now: NIODeadline) -> ClientStall? {
        guard self.phase == .exchange || self.phase == .tunnel, let pace = self.pace,
            pace.exchange == self.exchangeNumber
        else { return nil }
        return pace.stall(now: now)
    }

    package func endStalled() {
        switch self.phase {
        case .tunnel:
            self.closeTunnel(.clientStalled, .tryAgainLater)
        case .exchange where self.facts.hasBegunAnswer:
            self.abort(.clientStalled)
        case .exchange:
            self.dropUpstream()
            self.answer(.problem(.clientStalled, requestID: self.record.requestID, closes: true))
        case .idle, .judging, .waiting, .collecting, .expecting, .connecting, .queued, .ending:
            break
        }
    }
}
