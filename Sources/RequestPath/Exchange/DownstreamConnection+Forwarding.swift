import Glibc
import NIOCore
import Settings
import Vocabulary

/// The exchange with the app: sending the request, passing the answer on, and what may go wrong between.
extension DownstreamConnection {
    /// Sends the judged request on a kept connection, or asks for a new one.
    func startExchange() {
        guard let route = self.facts.route, let pool = self.facts.pool else {
            return self.answer(.problem(404, .routeNotFound))
        }
        self.facts.responseDeadline =
            self.loop.now + (route.responseTimeout ?? self.configuration.timeouts.response)
        self.facts.isForwarded = true
        if self.facts.session != nil { self.noteAddress() }
        if let connection = pool.takeIdle(for: self.facts.session) {
            self.facts.upstreamReused = true
            self.send(on: connection)
        } else {
            self.phase = .connecting
            pool.connect(for: self)
        }
    }

    /// Tells the gate, once in a while, that somebody is signed in at this address.
    @inline(__always)
    private func noteAddress() {
        guard self.loop.now >= self.nextNote else { return }
        self.nextNote = self.loop.now + .minutes(5)
        self.gate.noteSession(self.peer, now: self.loop.now)
    }

    var isConnecting: Bool { self.phase == .connecting }
    var method: KnownMethod { self.facts.method }
    var answerFraming: OutgoingFraming { self.facts.answerFraming }
    var awaitsUpgrade: Bool { self.facts.isWebSocket }
    var hasSentRequest: Bool { self.body.isDone }

    func upstreamConnected(_ connection: UpstreamConnection) {
        self.send(on: connection)
        if self.phase == .exchange {
            self.resumeReading()
            self.process()
        }
    }

    private func send(on connection: UpstreamConnection) {
        guard let head = self.upstreamHead, let pool = self.facts.pool else {
            return self.upstreamFailed(.upstreamReset)
        }
        guard let context = connection.context, connection.isUsable else {
            // It closed while it waited: another one.
            connection.close()
            self.facts.upstreamReused = false
            self.phase = .connecting
            pool.connect(for: self)
            return
        }
        self.upstream = connection
        self.phase = .exchange
        if self.loop.accessLog != nil { self.facts.sentAt = .now() }
        connection.begin(for: self)
        if pool.isStrict { connection.owner = UpstreamPool.Owner(self.facts.session) }
        context.write(NIOAny(head), promise: nil)
        self.loop.flushSoon(connection)
        if !self.body.isDone {
            self.facts.lastProgress = self.loop.now
            self.sendContinue()
            self.resumeReading()
        }
    }

    /// The head is about to leave, and what has come of the body leaves with it. None of it is used before: should the
    /// connection turn out to be none for this request, all of it goes over another one.
    @inline(__always)
    func headLeaves() {
        if !self.body.isDone { self.process() }
    }

    /// "100 Continue" is ours to give: the request is judged and somebody is there to take the body (RFC 9110 10.1.1).
    func sendContinue() {
        guard self.facts.expectsContinue else { return }
        self.facts.expectsContinue = false
        self.context?.writeAndFlush(
            NIOAny(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")),
            promise: nil
        )
    }

    /// Passes the next bytes of the request's body on.
    func forwardBody(_ buffer: inout ByteBuffer) {
        guard let upstream = self.upstream, let sink = upstream.context else {
            buffer.clear()
            return
        }
        self.facts.expectsContinue = false
        self.facts.lastProgress = self.loop.now
        let framing: OutgoingFraming = self.facts.requestFraming == .chunked ? .chunked : .asIs
        self.loop.stage.begin()
        let outcome = self.body.relay(&buffer, as: framing, through: self.loop.stage, to: sink)
        if let limit = self.facts.route?.maxBody ?? self.configuration.limits.body, self.body.byteCount > limit {
            return self.refuseBody(413, .requestBodyTooLarge)
        }
        self.loop.stage.flush(to: sink, exactly: true)
        guard self.upstream === upstream else { return }
        switch outcome {
        case .more:
            if !sink.channel.isWritable { self.pauseReading() }
        case .end:
            self.facts.responseDeadline =
                self.loop.now + (self.facts.route?.responseTimeout ?? self.configuration.timeouts.response)
        case .malformed:
            self.refuseBody(400, .requestFraming)
        }
    }

    /// The body turned out to be one that we do not pass on: the app gets a broken request, never a short whole one.
    private func refuseBody(_ status: Int, _ reason: Reason) {
        self.upstream?.abandon()
        self.upstream = nil
        if self.facts.hasBegunAnswer { return self.abort(reason) }
        self.facts.keepsAlive = false
        self.answer(.problem(status, reason, requestID: self.facts.requestID, closes: true))
    }

    func upstreamTakesBytes() {
        if self.phase == .tunnel || !self.body.isDone {
            self.facts.lastProgress = self.loop.now
            self.resumeReading()
        }
    }

    // MARK: The answer

    /// Writes the answer's head to the stage and says how its body goes on; nil when it cannot be passed on.
    func answerBegins(_ head: ResponseHead, _ buffer: ByteBuffer) -> OutgoingFraming? {
        guard let route = self.facts.route, let host = self.facts.host, let pool = self.facts.pool else { return nil }
        self.releaseUpstreamHead()
        self.facts.hasBegunAnswer = true
        self.facts.status = head.status
        self.facts.isEventStream = head.isEventStream
        self.facts.lastProgress = self.loop.now
        let now = NIODeadline.now()
        if let sentAt = self.facts.sentAt { self.facts.upstreamTime = now - sentAt }
        self.loop.metrics.upstreamAnswered(
            route.upstreamIndex,
            status: head.status,
            nanoseconds: (now - self.facts.startedAt).nanoseconds
        )
        var changes = AnswerChanges(requestID: self.facts.requestID)
        // A request whose body is still coming is cut off by the answer: whatever follows could be taken for the next one.
        // A refused upgrade may have bytes of the other protocol behind it.
        if !self.body.isDone || self.facts.isWebSocket || self.loop.isDraining { self.facts.keepsAlive = false }
        switch head.framing {
        case _ where head.status == 101, .none, .length:
            changes.framing = .asIs
        case .chunked, .untilClose:
            if self.facts.minorVersion == 1 {
                changes.framing = .chunked
            } else {
                changes.framing = .untilClose
                self.facts.keepsAlive = false
            }
        }
        changes.dropsContentLength = head.status == 204
        changes.closes = !self.facts.keepsAlive
        changes.saysKeepAlive = self.facts.keepsAlive && self.facts.minorVersion == 0
        // A cookie of ours is one browser's, and `Set-Cookie` alone keeps no cache from giving it to others (RFC 9111 7.3).
        changes.marksPrivate =
            route.settings.cachePrivate && (self.facts.session != nil || !self.facts.extraLines.isEmpty)
        if !self.facts.extraLines.isEmpty { changes.extraLines = Array(self.facts.extraLines.joined()) }
        self.facts.answerFraming = changes.framing
        self.loop.stage.begin()
        self.loop.stage.append { out in
            buffer.withUnsafeReadableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                if !self.facts.crossOriginLines.isEmpty,
                    !CrossOrigin.allowsItself(head, base.assumingMemoryBound(to: UInt8.self))
                {
                    changes.extraLines += self.facts.crossOriginLines
                }
                self.configuration.responseWriter.write(
                    head,
                    base.assumingMemoryBound(to: UInt8.self),
                    changes: changes,
                    origin: pool.target.origin,
                    publicOrigin: host.origin,
                    into: &out
                )
            }
        }
        return changes.framing
    }

    @inline(__always)
    func answerPassed(_ count: Int) {
        self.facts.bytesOut &+= count
        self.facts.lastProgress = self.loop.now
    }

    /// The answer has ended as its framing said.
    func answerEnded() {
        guard self.phase != .closed else { return }
        self.upstream = nil
        let isBodyDone = self.body.isDone
        self.conclude(nil)
        if !self.facts.keepsAlive || !isBodyDone {
            self.linger()
        } else {
            self.becomeIdle()
            // With bytes waiting this is a pipelined request; from inside `process` the outer pass goes on.
            self.process()
        }
    }

    // MARK: Failures

    /// The app cannot be reached, did not answer, or answered what nobody can pass on.
    func upstreamFailed(_ reason: Reason) {
        let failed = self.upstream
        self.upstream = nil
        if self.facts.hasBegunAnswer { return self.abort(reason) }
        if reason == .upstreamReset, let failed, self.mayRetry(failed) { return self.retry() }
        self.releaseUpstreamHead()
        self.loop.metrics.upstreamAnswered(
            self.facts.route?.upstreamIndex ?? .max,
            status: 0,
            nanoseconds: (NIODeadline.now() - self.facts.startedAt).nanoseconds
        )
        let status =
            switch reason {
            case .upstreamTimeout: 504
            case .gatewayOverloaded: 503
            default: 502
            }
        self.answer(.problem(status, reason, requestID: self.facts.requestID))
        self.process()
    }

    /// The app sent something before the request had left. On a kept connection that is what is left of an earlier
    /// exchange, and the request, of which nothing has left, goes over a new one; on a new one it is no HTTP.
    func upstreamSpokeFirst() {
        self.upstream = nil
        if self.facts.upstreamReused { self.retry() } else { self.upstreamFailed(.upstreamMalformed) }
    }

    /// Sends the request once more, on a new connection.
    private func retry() {
        self.facts.upstreamReused = false
        self.loop.metrics.upstreamRetried(self.facts.route?.upstreamIndex ?? 0)
        self.phase = .connecting
        self.facts.pool?.connect(for: self)
    }

    /// A kept connection may have been closed just as we wrote: once, on a new one, and only what cannot have had an effect
    /// or has none twice. An app may act on a head whose body it never reads, so a POST does not leave twice (RFC 9110 9.2.2).
    private func mayRetry(_ connection: UpstreamConnection) -> Bool {
        guard self.facts.upstreamReused else { return false }
        if !connection.hasSent { return true }
        guard !connection.hasAnswered, self.body.byteCount == 0 else { return false }
        // The end of an empty chunked body has been sent and would have to be sent again.
        if self.body.isDone, self.facts.requestFraming == .chunked { return false }
        return self.facts.method.isIdempotent
    }

    /// The answer broke off: the client must not take what it has for the whole.
    func abort(_ reason: Reason) {
        self.facts.keepsAlive = false
        self.upstream?.abandon()
        self.upstream = nil
        self.releaseUpstreamHead()
        self.conclude(reason)
        self.reset()
    }

    /// Closes with RST, which no client mistakes for the end of a body without length.
    func reset() {
        guard self.phase != .closed, let context = self.context else { return }
        self.phase = .closed
        self.loop.remove(self)
        self.exchangeNumber &+= 1
        if let socket = context.channel as? any SocketOptionProvider {
            socket.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
                context.close(promise: nil)
            }
        } else {
            context.close(promise: nil)
        }
    }

    func releaseUpstreamHead() {
        if let head = self.upstreamHead {
            self.upstreamHead = nil
            self.loop.giveBack(head)
        }
        self.permit = nil
    }
}
