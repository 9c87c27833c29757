package import NIOCore
import Sessions
import Settings
import Transport
import Vocabulary

/// Checks the deadlines of an exchange four times a second. This is cheaper than a timer for each request.
extension Exchange {
    /// Ends the exchange if a deadline has passed.
    package func sweep(_ now: NIODeadline) {
        self.holdSession()
        defer { self.noteUse() }
        if let pool = self.facts.pool, pool.isCrowded { self.notePace(now) }
        switch self.phase {
        case .collecting:
            if self.isBodyTooSlow(now) { self.refuseCollected(.requestTimeout) }
        case .exchange:
            self.sweepExchange(now)
        case .tunnel:
            self.sweepTunnel(now)
        case .connecting:
            // The pool ends requests to unreachable apps. This deadline is for apps that accept connections slowly.
            if now >= self.facts.responseDeadline + self.configuration.timeouts.queue {
                self.upstreamFailed(.gatewayOverloaded)
            }
        case .queued:
            if now >= self.facts.waitDeadline { self.refuseQueued() }
        case .expecting:
            if now >= self.facts.waitDeadline { self.bodyArrives() }
        case .ending:
            self.sweepClient(now)
        case .idle, .judging, .waiting:
            break
        }
    }

    /// Checks a client that accepts no more bytes. It must accept some bytes within the write timeout. The app's
    /// deadlines do not apply, because the app is not read.
    private func sweepClient(_ now: NIODeadline) {
        let waiting = self.stream?.unacknowledgedBytes ?? 0
        if self.facts.clientOutput.isStuck(waiting, now: now, limit: self.configuration.timeouts.write) {
            return self.abort(self.facts.endReason ?? .requestTimeout)
        }
        guard self.record.isAppsAnswer else { return }
        // The content of an event stream is checked when it arrives.
        if self.facts.clientOutput.hasTaken, !self.facts.isEventStream { self.facts.hasPayload = true }
        // A slow client must not keep a stream beyond the end of its session.
        if self.facts.endReason == nil { self.checkSession() }
    }

    private func sweepExchange(_ now: NIODeadline) {
        if self.stream?.isWritable == false { return self.sweepClient(now) }
        let timeouts = self.configuration.timeouts
        if !self.facts.isRequestWhole, let upstream = self.upstream, !upstream.isWritable {
            // The app must read some bytes within the write timeout.
            if self.facts.appOutput.isStuck(upstream.unacknowledgedBytes, now: now, limit: timeouts.write) {
                self.reportSlow("it has read no byte of a request's body within timeouts.write", timeouts.write)
                return self.upstreamTimedOut()
            }
            if self.facts.appOutput.hasTaken { self.facts.hasPayload = true }
            if self.facts.hasBegunAnswer { self.checkSession() }
            return
        }
        if !self.facts.hasBegunAnswer { return self.sweepRequest(now) }
        let limit = self.facts.isEventStream ? timeouts.streamIdle : timeouts.upstreamIdle
        if now - self.facts.lastProgress > limit {
            if !self.facts.isEventStream {
                self.reportSlow("no byte of an answer's body within timeouts.upstream_idle", limit)
            }
            return self.abort(.upstreamTimeout)
        }
        self.checkSession()
    }

    /// Checks a request whose answer has not begun.
    private func sweepRequest(_ now: NIODeadline) {
        if !self.facts.isRequestWhole {
            guard self.isBodyTooSlow(now) else { return }
            self.dropUpstream()
            return self.answer(.problem(.requestTimeout, requestID: self.record.requestID, closes: true))
        }
        // The time for the answer begins when the app has received the request. A large body may take long.
        if self.record.bytesIn > 0, !self.facts.isRequestTaken, let upstream = self.upstream, upstream.hasSent {
            let waiting = upstream.unacknowledgedBytes
            self.facts.isRequestTaken = waiting == 0
            if self.facts.appOutput.moves(waiting, now: now) { self.awaitResponse(from: now) }
            if self.facts.appOutput.hasTaken { self.facts.hasPayload = true }
        }
        if now >= self.facts.responseDeadline {
            let ofRoute = self.record.route?.responseTimeout
            let key = ofRoute == nil ? "timeouts.response" : "routes[].timeouts.response"
            self.reportSlow("no answer within \(key)", ofRoute ?? self.configuration.timeouts.response)
            self.upstreamTimedOut()
        }
    }

    /// Reports to the operator that the app has exceeded a time limit, at most once a minute for each app.
    ///
    /// - Parameter sentence: What has happened. Ends with the settings key of the limit.
    private func reportSlow(_ sentence: String, _ limit: TimeAmount) {
        guard let route = self.record.route, let index = route.upstreamIndex, let notify = self.loop.onUpstreamNotice
        else { return }
        let app = self.configuration.targets[index]
        guard app.mayReport(.upstreamTimeout, now: self.loop.now) else { return }
        notify(
            UpstreamNotice(
                upstream: app.settings.name,
                reason: .upstreamTimeout,
                sentence: "\(sentence) (\(limit.inWords)) on the route \(route.name)",
                field: nil
            )
        )
    }

    private func upstreamTimedOut() {
        self.upstream?.expire()
        self.upstream = nil
        self.upstreamFailed(.upstreamTimeout)
    }

    /// True if the average rate of the body is too low after the grace period.
    private func isBodyTooSlow(_ now: NIODeadline) -> Bool {
        let timeouts = self.configuration.timeouts
        let elapsed = now - self.record.startedAt
        guard elapsed > timeouts.bodyGrace else { return false }
        let seconds = Int(elapsed.nanoseconds / 1_000_000_000)
        return self.record.bytesIn < seconds * timeouts.bodyRate
    }

    /// Registers a permitted request with its session, so that the end of the session ends the request.
    func holdSession() {
        guard self.holderPlace < 0, let session = self.record.session else { return }
        switch self.phase {
        case .expecting, .connecting, .queued, .exchange, .tunnel, .ending:
            self.loop.sessions?.holders.add(self, of: session)
        case .idle, .judging, .waiting, .collecting: break
        }
    }

    /// Records a use of the session if content was forwarded (`session.idle_counts: traffic`).
    func noteUse() {
        guard let session = self.record.session else { return }
        // Reset in any case, so that old content is not counted later.
        let hasPayload = self.tunnel?.takeData() ?? self.facts.hasPayload
        self.facts.hasPayload = false
        guard hasPayload, self.configuration.settings.session.idleCounts == .traffic else { return }
        self.loop.sessions?.resolver.noteUse(of: session, now: self.loop.sessionNow)
    }

    /// Ends the stream if its session has ended or the client's certificate has expired.
    func checkSession() {
        if self.record.judge.findings.certificate != nil, self.client?.hasExpired(at: self.loop.wallNow) == true {
            return self.certificateExpired()
        }
        guard let session = self.record.session else { return }
        if self.facts.hasSessionEnded || self.loop.sessionNow >= session.session.expiresAt {
            self.sessionEnded()
        } else {
            self.loop.sessions?.streams.check(session, now: self.loop.sessionNow)
        }
    }
}
