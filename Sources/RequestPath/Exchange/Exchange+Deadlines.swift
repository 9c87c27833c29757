package import NIOCore
import Sessions
import Settings
import Vocabulary

/// What ends by itself. One sweep per loop four times a second looks at every exchange: cheaper than a timer for each
/// request, and exact enough for seconds.
extension Exchange {
    /// Ends what has taken too long.
    package func sweep(_ now: NIODeadline) {
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
        case .idle, .judging, .waiting, .ending:
            break
        }
    }

    private func sweepExchange(_ now: NIODeadline) {
        let timeouts = self.configuration.timeouts
        if let stream = self.stream, !stream.isWritable {
            // A client that takes bytes is waited for, however slow; one that takes none is not. The app is not to blame,
            // and not read either.
            let waiting = stream.unsentBytes
            if waiting < self.facts.waitingBytes { self.facts.lastProgress = now }
            self.facts.waitingBytes = waiting
            if now - self.facts.lastProgress > timeouts.write { return self.abort(.requestTimeout) }
            // Reading slowly is no way to outlive a session.
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

    /// The body's average rate since it began, after a grace, is below the least that is waited for.
    private func isBodyTooSlow(_ now: NIODeadline) -> Bool {
        let timeouts = self.configuration.timeouts
        let elapsed = now - self.facts.startedAt
        guard elapsed > timeouts.bodyGrace else { return false }
        let seconds = Int(elapsed.nanoseconds / 1_000_000_000)
        return self.body.byteCount < seconds * timeouts.bodyRate
    }

    /// A stream outlives the moment in which its session was found: what ends the session later counts for it too.
    private func checkSession() {
        guard let session = self.facts.session else { return }
        if self.facts.hasSessionEnded || self.loop.sessionNow >= session.session.expiresAt {
            self.sessionEnded()
        } else {
            self.loop.streamSessions.check(session, now: self.loop.sessionNow)
        }
    }
}
