import AddressIntelligence
package import NIOCore
package import Sessions
import Settings
import Transport
package import Vocabulary

/// The app's side of an exchange: sends the request, forwards the answer, and handles failures.
extension Exchange: AnswerReceiver, StreamWaiter {
    /// Uses the permit to write the head for the app. `take` then sends the head.
    func forward(_ permit: consuming Permit, _ identity: consuming IdentityLines?, _ given: JudgingContext) -> Step {
        guard let host = self.record.pinnedHost else { preconditionFailure("a request of no host is permitted") }
        if self.record.judge.findings.isAssertionDue, let session = self.record.session {
            let audience = host.use { permit.route.audience(on: $0) }
            self.loop.renewAssertion(of: session, for: audience, by: given.configuration)
        }
        self.upstreamHead = PermittedHead(
            given.head,
            given.base,
            permit: permit,
            credentials: self.record.judge.credentials,
            facts: ForwardedFacts(
                address: self.clientText,
                host: host,
                requestID: self.record.requestID,
                identity: identity,
                trace: self.loop.isTraced ? self.forwardedTrace : nil
            ),
            own: given.configuration.ownNames,
            into: self.loop.takeBuffer()
        )
        return .forward
    }

    /// The client's address as text, as reported by trusted proxies or else the peer's.
    var clientText: [UInt8] {
        guard let client = self.record.clientAddress, client != self.peer else { return self.peerText }
        return Array(client.description.utf8)
    }

    /// How long a request waits for the first bytes of a body with a declared length, without a stream to the app.
    /// Afterwards, the app receives the head alone, because it may answer without the body.
    static let bodyPatience = TimeAmount.seconds(1)

    /// True while the request waits for the first bytes of its body.
    package var awaitsBody: Bool { self.phase == .expecting }

    /// Asks the client for the body and waits for it, for at most `bodyPatience`.
    func expectBody() {
        self.phase = .expecting
        self.facts.waitDeadline = self.loop.now + Self.bodyPatience
        self.stream?.askForBody()
        self.stream?.resumeReading()
        self.process()
    }

    /// Continues a request that has waited for its body. Called before bytes are consumed, or after `bodyPatience`.
    package func bodyArrives() {
        guard self.phase == .expecting, let pool = self.facts.pool else { return }
        // The session may have ended while the request waited.
        if let session = self.record.session, self.loop.sessions?.resolver.cache.hasEnded(session) == true {
            return self.upstreamFailed(.gatewayOverloaded)
        }
        self.takeStream(of: pool)
    }

    /// Sends the request on a free stream, or waits for one.
    func takeStream(of pool: any AppPool) {
        self.awaitResponse(from: self.loop.now)
        if let free = pool.takeStream(for: self) {
            self.record.upstreamReused = true
            self.send(on: free)
        } else {
            self.awaitStream(of: pool)
        }
    }

    /// Waits for a stream and registers the request, so that the end of its session can find it.
    func awaitStream(of pool: any AppPool) {
        self.phase = .connecting
        self.holdSession()
        pool.awaitStream(for: self)
    }

    /// Starts the time limit for the head of the app's answer.
    @inline(__always)
    func awaitResponse(from now: NIODeadline) {
        let timeout = self.record.pinnedRoute.flatMap { route in route.use { $0.responseTimeout } }
        self.facts.responseDeadline = now + (timeout ?? self.configuration.timeouts.response)
    }

    package var session: CachedSession? { self.record.session }
    package var isConnecting: Bool { self.phase == .connecting }
    package var isQueued: Bool { self.phase == .queued }
    package var isRepeatable: Bool { self.facts.method.isIdempotent && !self.facts.hasBody }

    /// The client's address for limits. `nil` if a trusted proxy reports no client.
    var clientKey: AddressKey? {
        let address = self.record.clientAddress ?? self.peer
        return self.configuration.clientAddress.trusts(address) ? nil : AddressKey(of: address)
    }

    package var requester: Requester {
        Requester(address: self.clientKey, session: self.record.session.map { StickyKey.hash($0.session.id.utf8) })
    }

    package var stickyKey: UInt64 {
        if let session = self.record.session { return StickyKey.hash(session.session.id.utf8) }
        return StickyKey.hash(AddressKey(of: self.record.clientAddress ?? self.peer).description.utf8)
    }

    package var failedServers: UInt64 {
        get { self.facts.failedServers }
        set { self.facts.failedServers = newValue }
    }

    package func upstreamChosen(_ server: UpstreamServer) { self.record.server = server }

    package var method: KnownMethod { self.facts.method }
    package var awaitsUpgrade: Bool { self.facts.isWebSocket }
    package var isRequestWhole: Bool { self.facts.isRequestWhole }

    package func upstreamTried(_ server: UpstreamServer) {
        if self.record.trace != nil { self.attemptBegins(at: Pinned(server), .now()) }
    }

    package func upstreamMissed(_ reason: Reason) {
        if self.record.trace != nil { self.attemptFailed(reason) }
    }

    package func upstreamReady(_ free: any FreeStream, isReused: Bool) {
        // The session may have ended while the request waited.
        if let session = self.record.session, self.loop.sessions?.resolver.cache.hasEnded(session) == true {
            free.close()
            return self.upstreamFailed(.gatewayOverloaded)
        }
        self.record.upstreamReused = isReused
        self.awaitResponse(from: self.loop.now)
        self.send(on: free)
        if self.phase == .exchange {
            self.stream?.resumeReading()
            self.process()
        }
    }

    func send(on free: any FreeStream) {
        guard free.isUsable else {
            // The stream has closed since it was chosen.
            free.close()
            self.record.upstreamReused = false
            if self.record.trace != nil { self.attemptFailed(.upstreamReset) }
            if let pool = self.facts.pool { self.awaitStream(of: pool) }
            return
        }
        guard let head = self.upstreamHead.take() else { return self.upstreamFailed(.upstreamReset) }
        self.phase = .exchange
        self.upstream = free.begin(head, for: self)
        if self.isRecorded {
            let now = NIODeadline.now()
            self.facts.sentAt = now
            if self.record.trace != nil, let server = self.upstream?.server { self.attemptBegins(at: server, now) }
        }
        if !self.facts.isRequestWhole {
            self.facts.lastProgress = self.loop.now
            self.stream?.askForBody()
            self.stream?.resumeReading()
        }
    }

    /// Called just before the head is sent, so that the received part of the body is sent with it. If the stream fails
    /// before this call, the request can be sent on another stream.
    package func headLeaves() {
        if !self.facts.isRequestWhole { self.process() }
    }

    /// Forwards the received part of the request's body to the app.
    ///
    /// - Parameter trailers: The trailers after the body. `nil` if there are none.
    func forwardBody(_ progress: BodyProgress, _ trailers: Trailers? = nil) {
        guard let upstream = self.upstream else { return }
        self.facts.lastProgress = self.loop.now
        self.facts.hasPayload = true
        if let limit = self.record.route?.maxBody, self.record.bytesIn > limit {
            return self.refuseBody(.requestBodyTooLarge)
        }
        if progress != .end {
            upstream.flush()
        } else if let trailers {
            upstream.complete(with: trailers)
        } else {
            upstream.complete()
        }
        guard self.upstream === upstream else { return }
        switch progress {
        case .more:
            if !upstream.isWritable { self.stream?.pauseReading() }
        case .end:
            self.awaitResponse(from: self.loop.now)
        case .malformed:
            self.refuseBody(.requestFraming)
        }
    }

    /// Refuses a malformed or too large body. The app sees an incomplete request, never a shorter complete one.
    func refuseBody(_ reason: Reason) {
        self.dropUpstream()
        if self.facts.hasBegunAnswer { return self.abort(reason) }
        self.answer(.problem(reason, requestID: self.record.requestID, closes: true))
    }

    package func upstreamTakesBytes() {
        self.facts.appOutput = OutputWatch()
        if self.phase == .tunnel || !self.facts.isRequestWhole {
            self.facts.lastProgress = self.loop.now
            self.stream?.resumeReading()
        }
    }

    // MARK: All streams in use

    package func upstreamBusy() {
        self.phase = .queued
        self.facts.waitDeadline = self.loop.now + self.configuration.timeouts.queue
        self.holdSession()
    }

    package func upstreamFree() {
        self.phase = .connecting
        self.awaitResponse(from: self.loop.now)
    }

    /// Removes the request from the queue.
    func leaveQueue() {
        guard self.phase == .queued else { return }
        self.phase = .connecting
        self.facts.pool?.waiterLeft(self)
    }

    /// Removes a queued request from the queue and refuses it.
    func refuseQueued() {
        self.leaveQueue()
        self.upstreamFailed(.gatewayOverloaded)
    }

    // MARK: The answer

    /// Forwards an interim answer (103, RFC 8297) if it can be sent now. Many WebSocket clients cannot read it.
    package func answerIsAnnounced(_ head: ResponseHead, _ buffer: ByteBuffer) {
        guard !self.facts.isWebSocket, let stream = self.stream, stream.isWritable, let route = self.record.route,
            route.settings.earlyHints, let host = self.record.host, let upstream = route.upstreamIndex
        else { return }
        let changes = self.changes(on: route)
        buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            let app = self.configuration.targets[upstream]
            stream.announce(AnswerHead(head, base, of: app, on: host), changes)
        }
    }

    package func answerBegins(_ head: ResponseHead, _ buffer: ByteBuffer) {
        guard let route = self.record.pinnedRoute, let host = self.record.pinnedHost, let stream = self.stream else {
            return self.abort(.clientGone)
        }
        if self.facts.isWebSocket, self.wouldOpen(head.status, on: stream) {
            self.dropUpstream()
            return self.upstreamFailed(.requestProtocol)
        }
        route.use { route in
            host.use { host in
                // The exchange keeps this configuration until the next request.
                Pinned(self.configuration).use { self.begin(head, buffer, route, host, by: $0, on: stream) }
            }
        }
    }

    /// True if the status would open a tunnel that the app did not accept. A script of another origin could then read a
    /// page as WebSocket frames.
    func wouldOpen(_ status: Int, on stream: any ClientStream) -> Bool {
        stream.opensBySuccess && 200..<300 ~= status
    }

    package func takeAnswer(_ count: Int, of content: inout ByteBuffer) {
        guard let stream = self.stream else { return content.moveReaderIndex(forwardBy: count) }
        switch self.facts.content {
        case .plain: self.facts.hasPayload = true
        case .events: self.lookForEvents(count, in: content)
        case .multistatus: return self.passReferences(count, of: &content, to: stream)
        }
        self.record.bytesOut &+= count
        stream.write(count, of: &content)
    }

    package func answerPauses() -> Bool {
        guard let stream = self.stream else { return true }
        self.facts.lastProgress = self.loop.now
        stream.flush()
        return stream.isWritable
    }

    /// Begins the app's answer with the gateway's changes.
    private func begin(
        _ head: ResponseHead,
        _ buffer: ByteBuffer,
        _ route: RouteEntry,
        _ host: HostEntry,
        by configuration: PathConfiguration,
        on stream: any ClientStream
    ) {
        if self.facts.isRepeated { self.kept = nil }
        self.facts.hasBegunAnswer = true
        self.record.isAppsAnswer = true
        self.record.status = head.status
        if head.isEventStream { self.facts.content = .events }
        self.facts.lastProgress = self.loop.now
        let now = NIODeadline.now()
        if let sentAt = self.facts.sentAt { self.record.log.upstreamTime = now - sentAt }
        let nanoseconds = (now - self.record.startedAt).nanoseconds
        self.record.answered.slot = self.metrics.upstreamAnswered(
            route.upstreamIndex ?? .max,
            status: head.status,
            nanoseconds: nanoseconds
        )
        self.record.answered.nanoseconds = nanoseconds
        var changes = self.changes(on: route)
        if !self.record.extraLines.isEmpty { changes.extraLines = Array(self.record.extraLines.joined()) }
        buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), let upstream = route.upstreamIndex
            else { return }
            if !self.record.crossOriginLines.isEmpty, !CrossOrigin.allowsItself(head, base) {
                changes.extraLines += self.record.crossOriginLines
            }
            if head.status == 207, route.changesPath, MultistatusBody.isReadable(head, base) {
                self.beginReferences(
                    head,
                    base,
                    AnswerHead(head, base, of: configuration.targets[upstream], on: host),
                    route
                )
            }
            // A local variable for the app would retain it.
            stream.begin(AnswerHead(head, base, of: configuration.targets[upstream], on: host), changes)
        }
    }

    /// Returns the changes to the app's answer.
    @inline(__always)
    private func changes(on route: RouteEntry) -> AnswerChanges {
        var changes = AnswerChanges(requestID: self.record.requestID)
        changes.keepsIdentityNames = route.leavesSessionToken
        if route.changesAnswers { changes.route = Pinned(route) }
        // Shared caches may store answers with `Set-Cookie` (RFC 9111 7.3) and send the cookies to other browsers.
        changes.marksPrivate =
            route.settings.cachePrivate && (self.record.session != nil || !self.record.extraLines.isEmpty)
        return changes
    }

    /// Begins an answer in which references to the app become public ones.
    private func beginReferences(_ head: ResponseHead, _ base: Bytes, _ answer: AnswerHead, _ route: RouteEntry) {
        answer.use { _, _, origin, publicOrigin in
            self.multistatus = MultistatusBody(
                PublicReferences(Pinned(route), origin: origin, publicOrigin: publicOrigin)
            )
        }
        self.facts.content = .multistatus
        head.forgetLength()
    }

    /// Replaces references in the next `count` bytes of the answer and sends the bytes.
    private func passReferences(_ count: Int, of content: inout ByteBuffer, to stream: any ClientStream) {
        self.facts.hasPayload = true
        guard let bytes = content.readSlice(length: count) else { return }
        var changed = ByteBuffer()
        bytes.withUnsafeReadableBytes { self.multistatus?.read($0.bindMemory(to: UInt8.self), into: &changed) }
        self.send(&changed, on: stream)
    }

    /// Sends the rest of an answer in which references are replaced.
    private func endReferences(on stream: any ClientStream) {
        var rest = ByteBuffer()
        self.multistatus?.end(into: &rest)
        self.multistatus = nil
        self.send(&rest, on: stream)
    }

    private func send(_ content: inout ByteBuffer, on stream: any ClientStream) {
        let count = content.readableBytes
        guard count > 0 else { return }
        self.record.bytesOut &+= count
        stream.write(count, of: &content)
    }

    /// Looks for events in an event stream. Comments only keep the connection open (HTML 9.2.6).
    private func lookForEvents(_ count: Int, in content: ByteBuffer) {
        content.withUnsafeReadableBytes { bytes in
            let bytes = UnsafeBufferPointer(rebasing: bytes.bindMemory(to: UInt8.self)[..<count])
            if self.facts.eventLines.pass(bytes) { self.facts.hasPayload = true }
        }
    }

    package func answerEnded() { self.endAnswer() }

    package func answerEnded(with section: TrailerSection) {
        guard self.phase == .exchange else { return }
        let rules = self.configuration.trailerRules
        let isRewritten = self.facts.content == .multistatus
        switch rules.check(section, ofAnswerOn: self.record.route, isRewritten: isRewritten) {
        case .passed(let trailers): self.endAnswer(trailers)
        case .tooLarge, .refused: self.upstreamFailed(.upstreamMalformed)
        }
    }

    /// Ends the answer after its complete body.
    @inline(__always)
    private func endAnswer(_ trailers: Trailers? = nil) {
        guard self.phase == .exchange, let stream = self.stream else { return }
        self.upstream = nil
        if self.record.trace != nil { self.attemptEnded() }
        if self.facts.content == .multistatus {
            self.endReferences(on: stream)
            // The client may have left during the previous call.
            guard self.phase == .exchange else { return }
        }
        self.finish(on: stream, trailers: trailers)
    }

    // MARK: Failures

    package func upstreamFailed(_ reason: Reason) {
        let failed = self.upstream
        self.upstream = nil
        if self.facts.hasBegunAnswer { return self.abort(reason) }
        if let failed {
            self.upstreamHead = failed.takeBack()
            if self.mayRetry(failed, after: reason) { return self.retry(after: failed, reason) }
        }
        if !self.passKept(instead: reason) {
            self.metrics.upstreamAnswered(
                self.record.route?.upstreamIndex ?? .max,
                status: 0,
                nanoseconds: (NIODeadline.now() - self.record.startedAt).nanoseconds
            )
            self.answer(.problem(reason, requestID: self.record.requestID))
        }
        self.process()
    }

    /// Passes on the answer that caused the retry, because the other server has not answered.
    ///
    /// - Returns: False if there is no such answer, if its head is no longer accepted, or for `gateway.overloaded`
    ///   (e.g. the session has ended).
    private func passKept(instead reason: Reason) -> Bool {
        guard self.facts.isRepeated, let kept = self.kept.take(), reason != .gatewayOverloaded else { return false }
        if self.record.trace != nil { self.attemptFailed(reason) }
        self.releaseUpstreamHead()
        self.record.server = kept.server
        self.phase = .exchange
        return kept.answer.pass(to: self, self.configuration.responseParser, self.loop.responseHead)
    }

    /// Called when the app sent bytes before the request. On a reused connection, they belong to an earlier exchange,
    /// so the request is retried (once) on another stream. On a new connection, they are not HTTP.
    package func upstreamSpokeFirst() {
        let failed = self.upstream
        self.upstreamHead = failed?.takeBack()
        self.upstream = nil
        if let failed, self.record.upstreamReused, !self.facts.isRepeated {
            self.retry(after: failed, .upstreamMalformed)
        } else {
            self.upstreamFailed(.upstreamMalformed)
        }
    }

    package func mayGo(to servers: UInt64) -> Bool {
        guard !self.facts.isRepeated, self.isRepeatable, servers & ~self.facts.failedServers != 0 else { return false }
        return self.facts.pool?.takeRetry() == true
    }

    package func goElsewhere(from stream: any AppStream, after status: Int, keeping answer: KeptAnswer?) {
        self.upstreamHead = stream.takeBack()
        self.upstream = nil
        self.retry(after: stream, nil, status: status, keeping: answer)
    }

    /// Sends the request again on another stream.
    ///
    /// - Parameters:
    ///   - failed: The stream that has failed.
    ///   - reason: The reason of the failure. `nil` if the status of the answer is the reason.
    ///   - answer: Passed on if the other stream brings no answer.
    private func retry(
        after failed: any AppStream,
        _ reason: Reason?,
        status: Int = 0,
        keeping answer: KeptAnswer? = nil
    ) {
        if self.record.trace != nil { self.attemptFailed(reason, status: status) }
        self.record.upstreamReused = false
        self.facts.isRepeated = true
        self.kept = answer.map { ($0, self.record.server) }
        self.metrics.upstreamRetried(self.record.route?.upstreamIndex ?? .max)
        guard let pool = self.facts.pool else { return }
        self.phase = .connecting
        self.holdSession()
        pool.awaitStream(for: self, after: failed)
    }

    /// True if the request may be sent again. It is repeated once, if a reused connection was lost or the app has other
    /// servers. If the app may have received the head, the method must be idempotent (RFC 9110 9.2.2).
    private func mayRetry(_ failed: any AppStream, after reason: Reason) -> Bool {
        guard !self.facts.isRepeated else { return false }
        let wasKept = reason == .upstreamReset && self.record.upstreamReused
        if !wasKept {
            guard reason == .upstreamReset || reason == .upstreamTLS, self.facts.pool?.hasSeveralServers == true else {
                return false
            }
        }
        if !failed.hasSent { return true }
        guard !failed.hasAnswered, self.record.bytesIn == 0 else { return false }
        // The end of the empty body has been sent and would have to be sent again.
        if self.facts.hasBody, self.facts.isRequestWhole { return false }
        return self.facts.method.isIdempotent && (wasKept || self.facts.pool?.takeRetry() == true)
    }
}
