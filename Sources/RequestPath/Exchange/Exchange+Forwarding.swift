package import NIOCore
package import Sessions
import Settings
import Transport
package import Vocabulary

/// The exchange with the app: sends the request, passes the answer on, and handles failures.
extension Exchange: AnswerReceiver, ConnectionWaiter {
    /// Sends the judged request on a kept connection, or asks for a new one.
    func startExchange() {
        guard let pool = self.facts.pool else {
            return self.answer(.problem(.routeNotFound, requestID: self.facts.requestID))
        }
        self.awaitResponse(from: self.loop.now)
        self.facts.isForwarded = true
        if self.facts.session != nil { self.stream?.signedIn() }
        if let connection = pool.takeIdle(for: self) {
            self.facts.upstreamReused = true
            self.send(on: connection)
        } else {
            self.connect(by: pool)
        }
    }

    /// Asks for a new connection. The session may end meanwhile, also when the cache does not have it any more.
    private func connect(by pool: any AppPool) {
        self.phase = .connecting
        self.holdSession()
        pool.connect(for: self)
    }

    /// Gives the app its time for the head of the answer.
    @inline(__always)
    func awaitResponse(from now: NIODeadline) {
        let timeout = self.facts.pinnedRoute.flatMap { route in route.use { $0.responseTimeout } }
        self.facts.responseDeadline = now + (timeout ?? self.configuration.timeouts.response)
    }

    package var session: CachedSession? { self.facts.session }
    package var isConnecting: Bool { self.phase == .connecting }
    package var isQueued: Bool { self.phase == .queued }
    package var method: KnownMethod { self.facts.method }
    package var awaitsUpgrade: Bool { self.facts.isWebSocket }
    package var isRequestWhole: Bool { self.body.isDone }

    package func upstreamConnected(_ connection: any AppConnection, isReused: Bool) {
        // The session may have ended while the request waited (`holdSession`).
        if let session = self.facts.session, self.sessions.cache.hasEnded(session) {
            connection.close()
            return self.upstreamFailed(.gatewayOverloaded)
        }
        self.facts.upstreamReused = isReused
        self.send(on: connection)
        if self.phase == .exchange {
            self.stream?.resumeReading()
            self.process()
        }
    }

    private func send(on connection: any AppConnection) {
        guard connection.isUsable else {
            // The connection has closed meanwhile, so another one is used.
            connection.close()
            self.facts.upstreamReused = false
            if let pool = self.facts.pool { self.connect(by: pool) }
            return
        }
        guard let head = self.upstreamHead.take() else { return self.upstreamFailed(.upstreamReset) }
        self.phase = .exchange
        if self.loop.accessLog != nil { self.facts.sentAt = .now() }
        self.upstream = connection.begin(head, for: self)
        if !self.body.isDone {
            self.facts.lastProgress = self.loop.now
            self.sendContinue()
            self.stream?.resumeReading()
        }
    }

    /// Called just before the head is sent; the received part of the body is sent with it. The body is not used
    /// earlier, so that head and body can still be sent on another connection if this one fails.
    package func headLeaves() {
        if !self.body.isDone { self.process() }
    }

    /// Sends "100 Continue" if the client waits for it: the request is judged, and an app is connected that takes the
    /// body (RFC 9110 10.1.1).
    func sendContinue() {
        guard self.facts.expectsContinue else { return }
        self.facts.expectsContinue = false
        self.stream?.writeAndFlush(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
    }

    /// Passes the next bytes of the request's body to the app.
    func forwardBody(_ buffer: inout ByteBuffer) {
        guard let upstream = self.upstream else {
            buffer.clear()
            return
        }
        self.facts.expectsContinue = false
        self.facts.lastProgress = self.loop.now
        self.facts.hasPayload = true
        let framing: OutgoingFraming = self.facts.requestFraming == .chunked ? .chunked : .asIs
        self.stage.begin()
        let outcome = self.body.relay(&buffer, as: framing, through: self.stage, to: upstream)
        if let limit = self.facts.route?.maxBody ?? self.configuration.limits.body, self.body.byteCount > limit {
            return self.refuseBody(.requestBodyTooLarge)
        }
        self.stage.flush(to: upstream, exactly: true)
        guard self.upstream === upstream else { return }
        switch outcome {
        case .more:
            if !upstream.isWritable { self.stream?.pauseReading() }
        case .end:
            self.awaitResponse(from: self.loop.now)
        case .malformed:
            self.refuseBody(.requestFraming)
        }
    }

    /// Refuses a body that is malformed or too large. The app sees an incomplete request, never a shorter complete one.
    private func refuseBody(_ reason: Reason) {
        self.dropUpstream()
        if self.facts.hasBegunAnswer { return self.abort(reason) }
        self.facts.keepsAlive = false
        self.answer(.problem(reason, requestID: self.facts.requestID, closes: true))
    }

    package func upstreamTakesBytes() {
        self.facts.appOutput = OutputWatch()
        if self.phase == .tunnel || !self.body.isDone {
            self.facts.lastProgress = self.loop.now
            self.stream?.resumeReading()
        }
    }

    // MARK: All connections in use

    package func upstreamBusy() {
        self.phase = .queued
        self.facts.queueDeadline = self.loop.now + self.configuration.timeouts.queue
        self.holdSession()
    }

    package func upstreamFree() {
        self.phase = .connecting
        self.awaitResponse(from: self.loop.now)
    }

    /// Leaves the queue if the request is in it.
    func leaveQueue() {
        guard self.phase == .queued else { return }
        self.phase = .connecting
        self.facts.pool?.waiterLeft()
    }

    /// Answers a queued request for which no connection became free.
    func refuseQueued() {
        self.leaveQueue()
        self.upstreamFailed(.gatewayOverloaded)
    }

    // MARK: The answer

    /// Passes an interim answer on, such as 103 (RFC 8297), to a client that can read it ahead of the final one. Many
    /// clients of WebSockets cannot. A hint for which there is no room now is of no use later.
    package func answerIsAnnounced(_ head: ResponseHead, _ buffer: ByteBuffer) {
        guard self.facts.minorVersion == 1, !self.facts.isWebSocket, let stream = self.stream, stream.isWritable,
            let route = self.facts.route, route.settings.earlyHints, let host = self.facts.host
        else { return }
        self.stage.begin()
        self.stage.append { out in
            buffer.withUnsafeReadableBytes { bytes in
                guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
                self.configuration.responseWriter.writeInterim(
                    head,
                    base,
                    keepsIdentityNames: route.leavesSessionToken,
                    origin: self.configuration.targets[route.upstreamIndex].origin,
                    publicOrigin: host.origin,
                    into: &out
                )
            }
        }
        self.stage.flush(to: stream, exactly: true)
    }

    package func answerBegins(_ head: ResponseHead, _ buffer: inout ByteBuffer) -> AnswerProgress {
        guard self.writeAnswerHead(head, buffer) else { return .over }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        return self.passAnswer(&buffer, exactly: false)
    }

    package func answerContinues(_ buffer: inout ByteBuffer) -> AnswerProgress {
        self.stage.begin()
        return self.passAnswer(&buffer, exactly: true)
    }

    /// Passes bytes of the answer's body to the client. The stage has been begun and may contain the head.
    @inline(__always)
    private func passAnswer(_ buffer: inout ByteBuffer, exactly: Bool) -> AnswerProgress {
        guard let stream = self.stream else { return .over }
        if self.facts.isEventStream { self.lookForEvents(in: buffer) }
        let before = self.answerBody.byteCount
        let outcome = self.answerBody.relay(
            &buffer,
            as: self.facts.answerFraming,
            through: self.stage,
            to: stream
        )
        self.answerPassed(self.answerBody.byteCount - before)
        self.stage.flush(to: stream, exactly: exactly)
        switch outcome {
        case .more: return stream.isWritable ? .more : .full
        case .end: return .end
        case .malformed: return .malformed
        }
    }

    package func answerCut(isClean: Bool) {
        self.stage.begin()
        let outcome = self.answerBody.connectionEnded(as: self.facts.answerFraming, through: self.stage)
        guard outcome == .end, isClean, let stream = self.stream else { return self.upstreamFailed(.upstreamTruncated) }
        self.stage.flush(to: stream, exactly: true)
        self.answerEnded()
    }

    /// Writes the answer's head to the stage and records the framing of its body. False: it cannot be passed on.
    func writeAnswerHead(_ head: ResponseHead, _ buffer: ByteBuffer) -> Bool {
        guard let route = self.facts.pinnedRoute, let host = self.facts.pinnedHost else { return false }
        route.use { route in
            host.use { host in
                // Not replaced before the next request begins.
                Pinned(self.configuration).use { self.writeAnswerHead(head, buffer, route, host, by: $0) }
            }
        }
        return true
    }

    private func writeAnswerHead(
        _ head: ResponseHead,
        _ buffer: ByteBuffer,
        _ route: RouteEntry,
        _ host: HostEntry,
        by configuration: PathConfiguration
    ) {
        self.answerBody = BodyRelay(head.framing)
        self.facts.hasBegunAnswer = true
        self.facts.isAppsAnswer = true
        self.facts.status = head.status
        self.facts.isEventStream = head.isEventStream
        self.facts.lastProgress = self.loop.now
        let now = NIODeadline.now()
        if let sentAt = self.facts.sentAt { self.facts.upstreamTime = now - sentAt }
        self.metrics.upstreamAnswered(
            route.upstreamIndex,
            status: head.status,
            nanoseconds: (now - self.facts.startedAt).nanoseconds
        )
        var changes = AnswerChanges(requestID: self.facts.requestID)
        // If the body is incomplete, the bytes that follow could be read as the next request. After a refused upgrade,
        // they may be of the other protocol.
        if !self.body.isDone || self.facts.isWebSocket || self.loop.isDraining { self.facts.keepsAlive = false }
        switch head.framing {
        case .none, .length:
            changes.framing = .asIs
        case .chunked, .untilClose:
            if self.facts.minorVersion == 1 {
                changes.framing = .chunked
            } else {
                changes.framing = .untilClose
                self.facts.keepsAlive = false
            }
        }
        changes.keepsIdentityNames = route.leavesSessionToken
        changes.closes = !self.facts.keepsAlive
        changes.saysKeepAlive = self.facts.keepsAlive && self.facts.minorVersion == 0
        // The gateway's cookies are for one browser, and `Set-Cookie` alone does not stop a shared cache from giving
        // them to others (RFC 9111 7.3).
        changes.marksPrivate =
            route.settings.cachePrivate && (self.facts.session != nil || !self.facts.extraLines.isEmpty)
        if !self.facts.extraLines.isEmpty { changes.extraLines = Array(self.facts.extraLines.joined()) }
        self.facts.answerFraming = changes.framing
        self.stage.begin()
        self.stage.append { out in
            buffer.withUnsafeReadableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                if !self.facts.crossOriginLines.isEmpty,
                    !CrossOrigin.allowsItself(head, base.assumingMemoryBound(to: UInt8.self))
                {
                    changes.extraLines += self.facts.crossOriginLines
                }
                configuration.responseWriter.write(
                    head,
                    base.assumingMemoryBound(to: UInt8.self),
                    changes: changes,
                    origin: configuration.targets[route.upstreamIndex].origin,
                    publicOrigin: host.origin,
                    into: &out
                )
            }
        }
    }

    @inline(__always)
    private func answerPassed(_ count: Int) {
        self.facts.bytesOut &+= count
        self.facts.lastProgress = self.loop.now
        if count > 0, !self.facts.isEventStream { self.facts.hasPayload = true }
    }

    /// Comments keep an event stream's connection open, and are no events (HTML 9.2.6).
    private func lookForEvents(in buffer: ByteBuffer) {
        self.answerBody.look(into: buffer) { bytes in
            if self.facts.eventLines.pass(bytes) { self.facts.hasPayload = true }
        }
    }

    package func answerEnded() {
        guard self.phase == .exchange else { return }
        self.upstream = nil
        self.finish(self.facts.keepsAlive && self.body.isDone ? .next : .close)
    }

    // MARK: Failures

    package func upstreamFailed(_ reason: Reason) {
        let failed = self.upstream
        self.upstream = nil
        if self.facts.hasBegunAnswer { return self.abort(reason) }
        if let failed {
            self.upstreamHead = failed.takeBack()
            if reason == .upstreamReset, self.mayRetry(failed) { return self.retry() }
        }
        self.metrics.upstreamAnswered(
            self.facts.route?.upstreamIndex ?? .max,
            status: 0,
            nanoseconds: (NIODeadline.now() - self.facts.startedAt).nanoseconds
        )
        self.answer(.problem(reason, requestID: self.facts.requestID))
        self.process()
    }

    /// Called when the app sent bytes before the request. On a kept connection they belong to an earlier exchange, and
    /// the request is sent on another connection. On a new connection they are not HTTP.
    package func upstreamSpokeFirst() {
        self.upstreamHead = self.upstream?.takeBack()
        self.upstream = nil
        if self.facts.upstreamReused, !self.facts.isRepeated {
            self.retry()
        } else {
            self.upstreamFailed(.upstreamMalformed)
        }
    }

    /// Sends the request once more, on another connection.
    private func retry() {
        self.facts.upstreamReused = false
        self.facts.isRepeated = true
        self.metrics.upstreamRetried(self.facts.route?.upstreamIndex ?? 0)
        if let pool = self.facts.pool { self.connect(by: pool) }
    }

    /// Whether the request may be sent once more. A kept connection may have been closed just as the request was sent.
    /// The request is repeated once, on another connection, if it cannot have had an effect or is idempotent (RFC 9110
    /// 9.2.2). A POST is never sent twice, because an app may act on a head without reading the body.
    private func mayRetry(_ connection: any AppStream) -> Bool {
        guard self.facts.upstreamReused, !self.facts.isRepeated else { return false }
        if !connection.hasSent { return true }
        guard !connection.hasAnswered, self.body.byteCount == 0 else { return false }
        // The end of an empty chunked body has been sent and would have to be sent again.
        if self.body.isDone, self.facts.requestFraming == .chunked { return false }
        return self.facts.method.isIdempotent
    }
}
