package import NIOCore
import Sessions
import Settings
import Vocabulary

/// The deadlines of an exchange. Each loop checks all its exchanges four times a second. This is cheaper than a timer
/// for each request, and exact enough for deadlines in seconds.
extension Exchange {
    /// Ends the exchange if it has taken too long.
    package func sweep(_ now: NIODeadline) {
        self.holdSession()
        switch self.phase {
        case .collecting:
            if self.isBodyTooSlow(now) {
                self.endpoint = nil
                self.answer(.problem(.requestTimeout, requestID: self.facts.requestID, closes: true))
            }
        case .exchange:
            self.sweepExchange(now)
        case .tunnel:
            if now - self.facts.lastProgress > self.configuration.timeouts.streamIdle {
                self.abort(.upstreamTimeout)
            } else {
                self.checkSession()
            }
        case .connecting:
            // Each address has its own limit; a name that is being resolved has none.
            if now >= self.facts.responseDeadline { self.upstreamFailed(.upstreamTimeout) }
        case .queued:
            if now >= self.facts.queueDeadline { self.refuseQueued() }
        case .idle, .judging, .waiting, .ending:
            break
        }
    }

    private func sweepExchange(_ now: NIODeadline) {
        let timeouts = self.configuration.timeouts
        if let stream = self.stream, !stream.isWritable {
            // A client may be slow, but it must take some bytes within the write timeout. The app is not read
            // meanwhile, so its deadlines do not count.
            let waiting = stream.unsentBytes
            if waiting < self.facts.waitingBytes { self.facts.lastProgress = now }
            self.facts.waitingBytes = waiting
            if now - self.facts.lastProgress > timeouts.write { return self.abort(.requestTimeout) }
            // A client that reads slowly must not keep a stream beyond the end of its session.
            if self.facts.hasBegunAnswer { self.checkSession() }
            return
        }
        if !self.body.isDone, !self.facts.hasBegunAnswer {
            if let upstream = self.upstream, !upstream.isWritable {
                if now - self.facts.lastProgress > timeouts.upstreamIdle { self.upstreamTimedOut() }
            } else if self.isBodyTooSlow(now) {
                self.dropUpstream()
                self.answer(.problem(.requestTimeout, requestID: self.facts.requestID, closes: true))
            }
            return
        }
        if !self.facts.hasBegunAnswer {
            if now >= self.facts.responseDeadline { self.upstreamTimedOut() }
            return
        }
        let limit = self.facts.isEventStream ? timeouts.streamIdle : timeouts.upstreamIdle
        if now - self.facts.lastProgress > limit { return self.abort(.upstreamTimeout) }
        self.checkSession()
    }

    private func upstreamTimedOut() {
        self.dropUpstream()
        self.upstreamFailed(.upstreamTimeout)
    }

    /// Whether the body's average rate since it began is below the minimum, once the grace period is over.
    private func isBodyTooSlow(_ now: NIODeadline) -> Bool {
        let timeouts = self.configuration.timeouts
        let elapsed = now - self.facts.startedAt
        guard elapsed > timeouts.bodyGrace else { return false }
        let seconds = Int(elapsed.nanoseconds / 1_000_000_000)
        return self.body.byteCount < seconds * timeouts.bodyRate
    }

    /// Lets the end of the session find a permitted request that lasts.
    func holdSession() {
        guard self.holderPlace < 0, let session = self.facts.session else { return }
        switch self.phase {
        case .connecting, .queued, .exchange, .tunnel: self.loop.holders.add(self, of: session)
        case .idle, .judging, .waiting, .collecting, .ending: break
        }
    }

    /// Ends a stream whose session has ended since the request was judged.
    private func checkSession() {
        guard let session = self.facts.session else { return }
        if self.facts.hasSessionEnded || self.loop.sessionNow >= session.session.expiresAt {
            self.sessionEnded()
        } else {
            self.loop.streamSessions.check(session, now: self.loop.sessionNow)
        }
    }
}
