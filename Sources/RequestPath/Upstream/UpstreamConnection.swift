package import NIOCore
package import Transport
import Vocabulary

/// An HTTP/1 connection to an app, and its only stream. It carries one exchange at a time. It returns to the pool only
/// if both messages are complete and no further byte has arrived (CVE-2026-71324). If bytes arrive before the next
/// request is sent, the connection is closed, and the request may use another.
///
/// ```
///            send           head parsed            body ended
///   idle ──────────▶ head ──────────────▶ body ──────────────▶ idle, or closed
///                      │ 101 to a WebSocket request
///                      └──────────────────▶ tunnel ──▶ parting ──▶ closed    parting: until the app has everything
/// ```
package final class UpstreamConnection: StreamHandler, FreeStream, AppStream, TurnEndSender {
    private enum Phase { case idle, head, body, tunnel, parting, closed }

    /// The number of streams that a connection can carry at a time.
    static let maxStreams = 1

    let pool: ServerPool
    private let stream: any ByteStream
    /// The byte stream if it is encrypted. `nil` without TLS.
    private let tls: TLSStream?
    /// Copied from the pool, because a reference read through the pool is counted at each use.
    private let loop: PathLoop
    // Copied from the loop, because references read through the loop are counted at each use.
    private let stage: Stage
    private let answerHead: ResponseHead
    /// The part of the request's body that is collected for the next write.
    private var collection = Stage.Collection()
    /// The framing of the request's body.
    private var framing = OutgoingFraming.asIs
    /// Whether the request has a body, which may turn out to be empty.
    private var hasBody = false
    private var body = BodyDecoder(.none)
    /// The trailer section of the app's answer. `nil` if none has arrived.
    private var trailers: TrailerSection?
    /// Whether the answer's trailers are dropped, because they may have fields that `Connection` names.
    private var dropsTrailers = false
    /// The receiver of the current exchange's answer.
    private var receiver: (any AnswerReceiver)?
    /// The head of the current request, until the app's answer begins.
    private var head: PermittedHead?
    private var phase = Phase.idle
    private var partial: ByteBuffer?
    private var keepsAlive = true
    /// Watches whether the app accepts the last bytes of a parting connection.
    private var lastOutput = OutputWatch()
    /// Whether the request's head was sent.
    package private(set) var hasSent = false
    /// True once a byte of the answer has arrived. From then on, only the answer's status can cause a retry
    /// (`beginAnswer`).
    package private(set) var hasAnswered = false
    /// The requests that may use the connection.
    private(set) var owner = ServerPool.Owner.anybody
    /// Whether the app may send more than its answer: the answer had no content, or came before the request's end.
    private(set) var isDoubtful = false
    /// The number of streams in use.
    var streams = 0
    package var seat: ClientShares.Seat?
    var idleSince = NIODeadline.uptimeNanoseconds(0)
    /// The longest time that the connection is kept idle, if the app says when it closes idle connections.
    private(set) var idleLimit = TimeAmount.hours(1)
    /// The server's address. `nil` if it is not known.
    let address: SocketAddress?
    /// The latest version of the server's addresses that is known to contain `address`.
    var addressVersion: UInt32 = 0
    /// The number of interim answers in this exchange.
    private var interimCount = 0
    /// Whether an answer announced content where none is allowed, so that content may follow.
    private var mayGoOn = false
    private static let maxInterimAnswers = 16

    /// - Parameters:
    ///   - stream: A connected stream to the app. The caller starts it with the connection as its handler.
    ///   - address: The address that the stream is connected to.
    package init(_ stream: any ByteStream, to address: SocketAddress? = nil, pool: ServerPool) {
        self.stream = stream
        self.address = address
        self.tls = stream as? TLSStream
        self.pool = pool
        self.loop = pool.loop
        self.stage = pool.loop.stage
        self.answerHead = pool.loop.responseHead
    }

    // MARK: The exchange

    package func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream {
        self.receiver = receiver
        self.phase = .head
        self.hasSent = false
        self.hasAnswered = false
        self.keepsAlive = true
        self.interimCount = 0
        self.mayGoOn = false
        if self.pool.isStrict { self.owner = ServerPool.Owner(head.session) }
        self.framing = head.framing
        self.hasBody = head.hasBody
        self.stream.write(head.bytes)
        self.head = consume head
        self.loop.flushSoon(self)
        return self
    }

    package func takeBack() -> PermittedHead? { self.head.take() }

    private func releaseHead() {
        if let head = self.head.take() { self.loop.giveBack(head.intoBuffer()) }
    }

    /// Sends the head and the received part of the body, at the end of the turn that judged the request.
    @inline(__always)
    package func send() {
        // Looking for bytes that arrived in this turn costs a system call, so only doubtful connections are checked.
        if self.isDoubtful, self.phase == .head, !self.hasSent, self.stream.hasUnreadBytes {
            return self.refuseUnasked()
        }
        self.hasSent = true
        if self.hasBody { self.receiver?.headLeaves() }
        self.stream.flush()
    }

    package var isUsable: Bool { self.phase == .idle }
    package var server: Pinned<UpstreamServer> { Pinned(self.pool.server) }
    package var room: ObjectIdentifier { ObjectIdentifier(self.pool.room) }
    package var isReused: Bool { self.idleSince != NIODeadline.uptimeNanoseconds(0) }

    package func abandon() {
        self.receiver = nil
        self.releaseHead()
        self.close()
    }

    package func expire() {
        if self.phase == .head { self.disappoints(.timeout) }
        self.abandon()
    }

    /// Reports to the group that the app sent no answer that can be passed on, if the app has several servers.
    private func disappoints(_ fault: ServerNotice.Fault) {
        self.pool.group?.disappointed(self.pool, fault)
    }

    package func finish() {
        guard self.phase == .tunnel else { return self.abandon() }
        self.receiver = nil
        self.phase = .parting
        self.stream.endOutput()
        // Reads and discards what the app still sends. Unread bytes would turn the close into a reset.
        self.stream.resume()
        self.loop.part(self.hasParted)
    }

    package func close() {
        guard self.phase != .closed else { return }
        self.phase = .closed
        self.stream.close()
    }

    // MARK: Bytes to the app

    package func write(_ count: Int, of content: inout ByteBuffer) {
        self.stage.take(count, of: &content, &self.collection, as: self.framing, to: self.stream)
    }

    package func flush() {
        self.stage.flush(self.collection, to: self.stream, exactly: true)
    }

    package func complete() {
        self.stage.end(&self.collection, as: self.framing)
        self.flush()
    }

    package func complete(with trailers: Trailers) {
        guard self.framing == .chunked else { return self.complete() }
        self.stage.end(&self.collection, with: trailers)
        self.flush()
    }

    package func tunnel(_ bytes: ByteBuffer) {
        self.stream.writeAndFlush(bytes)
    }

    package func endOutput() {
        self.stream.endOutput()
    }

    package var isWritable: Bool { self.stream.isWritable }
    package var unacknowledgedBytes: Int { self.stream.unacknowledgedBytes }

    // MARK: Back-pressure

    /// Stops reading, because the client has not accepted the bytes that were sent to it.
    @inline(__always)
    package func pause() {
        self.stream.pause()
    }

    package func resume() {
        self.stream.resume()
    }

    package func becameWritable() {
        self.receiver?.upstreamTakesBytes()
    }

    package func outputEnded() {}

    // MARK: Bytes from the app

    package func received(_ buffer: inout ByteBuffer) {
        switch self.phase {
        case .head where !self.hasSent:
            self.refuseUnasked()
        case .head:
            self.hasAnswered = true
            if var partial = self.partial.take() {
                partial.writeBuffer(&buffer)
                self.readHead(&partial)
            } else {
                self.readHead(&buffer)
            }
        case .body:
            guard let receiver = self.receiver else { return self.close() }
            self.passOn(&buffer, receiver)
        case .tunnel:
            self.receiver?.tunnelled(buffer)
        case .idle:
            self.refuseUnasked()
        case .parting, .closed:
            break
        }
    }

    /// Closes the connection, because bytes arrived before the request was sent. They may belong to an earlier
    /// exchange, and the next client must not get them.
    private func refuseUnasked() {
        self.pool.room.countUnasked()
        let receiver = self.receiver
        self.receiver = nil
        self.close()
        if receiver != nil, !self.isReused {
            self.disappoints(.malformed)
            self.pool.room.notify(.upstreamMalformed, ResponseFault.Rule.unasked.rawValue)
        }
        receiver?.upstreamSpokeFirst()
    }

    private func readHead(_ buffer: inout ByteBuffer) {
        guard let receiver = self.receiver else { return self.close() }
        var isRewritten = false
        while true {
            let head = self.answerHead
            let result = buffer.withUnsafeReadableBytes { bytes in
                guard let base = bytes.baseAddress, bytes.count > 0 else { return ResponseParseResult.incomplete }
                return Pinned(self.loop.configuration).use { configuration in
                    configuration.responseParser.parse(
                        base.assumingMemoryBound(to: UInt8.self),
                        bytes.count,
                        into: head,
                        answersHead: receiver.method == .head
                    )
                }
            }
            switch result {
            case .incomplete:
                if buffer.readableBytes > 0 { self.partial = ByteBuffer(bytes: buffer.readableBytesView) }
                return
            case .malformed:
                let outcome = isRewritten ? .same : self.rewriteHead(&buffer)
                switch outcome {
                case .same: return self.refuse(head.fault ?? ResponseFault(.startLine), buffer)
                case .incomplete:
                    self.partial = ByteBuffer(bytes: buffer.readableBytesView)
                    return
                case .rewritten: isRewritten = true
                }
                continue
            case .complete:
                isRewritten = false
            }
            if head.announcesContent { self.mayGoOn = true }
            if head.status == 101 {
                guard receiver.awaitsUpgrade, head.upgradesToWebSocket else {
                    return self.refuse(ResponseFault(.upgrade), buffer)
                }
                return self.beginTunnel(head, &buffer, receiver)
            }
            if head.status < 200 {
                self.interimCount += 1
                guard self.interimCount <= Self.maxInterimAnswers else {
                    return self.refuse(ResponseFault(.interimCount), buffer)
                }
                // The gateway itself has already decided whether to send 100.
                if head.status != 100 {
                    receiver.answerIsAnnounced(head, buffer)
                    guard self.receiver === receiver, self.phase == .head else { return }
                }
                buffer.moveReaderIndex(forwardBy: head.byteCount)
                buffer.discardReadBytes()
                if buffer.readableBytes == 0 { return }
                continue
            }
            return self.beginAnswer(head, &buffer, receiver)
        }
    }

    /// Rewrites a head that the strict parser refused, if the settings allow the forms of old servers.
    @inline(never)
    private func rewriteHead(_ buffer: inout ByteBuffer) -> LenientHead.Outcome {
        guard self.pool.isLenient else { return .same }
        let limit = self.loop.configuration.responseParser.limit
        let outcome = LenientHead.rewrite(Array(buffer.readableBytesView), limit: limit)
        if case .rewritten(let head, let count) = outcome {
            buffer.moveReaderIndex(forwardBy: count)
            var rewritten = ByteBuffer(bytes: head)
            rewritten.writeBuffer(&buffer)
            buffer = rewritten
        }
        return outcome
    }

    private func beginAnswer(_ head: ResponseHead, _ buffer: inout ByteBuffer, _ receiver: any AnswerReceiver) {
        // On a reused connection, 408 may only mean that the app closes the idle connection (RFC 9110 15.5.9).
        if head.status == 408, self.isReused, !head.keepsAlive, receiver.mayGo(to: .max) {
            self.hasAnswered = false
            return self.sendElsewhere(receiver, after: head.status, keeping: nil)
        }
        if !self.pool.countsOnly(head.status), let group = self.pool.group {
            group.answered(self.pool, head.status)
            let others = group.others(than: self.pool, after: head.status)
            if others != 0, receiver.mayGo(to: others) {
                let answer = KeptAnswer(head, buffer, lenient: self.pool.isLenient)
                return self.sendElsewhere(receiver, after: head.status, keeping: answer)
            }
        }
        self.keepsAlive =
            head.keepsAlive && head.framing != .untilClose && !head.bindsConnection && !self.mayGoOn
        self.isDoubtful = head.framing == .none || !receiver.isRequestWhole
        if let seconds = head.idleSeconds { self.idleLimit = Self.idleLimit(of: seconds) }
        self.dropsTrailers = head.connectionListsFields
        self.phase = .body
        self.releaseHead()
        self.body = BodyDecoder(head.framing, ofAnswer: true, lenient: self.pool.isLenient)
        receiver.answerBegins(head, buffer)
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        self.passOn(&buffer, receiver)
    }

    /// Closes the connection. The request is sent again, on another connection.
    private func sendElsewhere(_ receiver: any AnswerReceiver, after status: Int, keeping answer: KeptAnswer?) {
        self.receiver = nil
        self.close()
        receiver.goElsewhere(from: self, after: status, keeping: answer)
    }

    /// Returns the idle limit if the app closes idle connections after `seconds`: a second less, or half if `seconds`
    /// is small. A POST that is sent while the app closes the connection is not retried.
    private static func idleLimit(of seconds: Int) -> TimeAmount {
        let seconds = Int64(min(seconds, 3600))
        return .milliseconds(max(seconds * 500, (seconds - 1) * 1000))
    }

    /// Hands over the part of the answer's body that is in `buffer`.
    @inline(__always)
    private func passOn(_ buffer: inout ByteBuffer, _ receiver: any AnswerReceiver) {
        guard self.serves(receiver) else { return }
        let progress = self.body.decode(
            &buffer,
            { receiver.takeAnswer($0, of: &$1) },
            trailers: { self.takeTrailers($0, of: &$1) }
        )
        switch progress {
        case .more:
            if !receiver.answerPauses(), self.serves(receiver) { self.pause() }
        case .end:
            self.finish(leftOver: buffer.readableBytes, receiver)
        case .malformed:
            _ = receiver.answerPauses()
            guard self.serves(receiver) else { return }
            self.pool.room.notify(.upstreamMalformed, ResponseFault.Rule.chunk.rawValue)
            self.fail(.upstreamMalformed)
        }
    }

    @inline(never)
    private func takeTrailers(_ count: Int, of content: inout ByteBuffer) {
        if self.dropsTrailers { return BodyDecoder.drop(count, of: &content) }
        let section = self.trailers ?? self.loop.configuration.trailerRules.sectionOfAnswer
        section.take(count, of: &content)
        self.trailers = section
    }

    /// Whether the exchange continues. A write to a client that has just disconnected ends the exchange at once.
    @inline(__always)
    private func serves(_ receiver: any AnswerReceiver) -> Bool {
        self.receiver === receiver && self.phase == .body
    }

    @inline(__always)
    private func finish(leftOver: Int, _ receiver: any AnswerReceiver) {
        self.receiver = nil
        let isClean = leftOver == 0 && self.keepsAlive && receiver.isRequestWhole
        if isClean {
            self.phase = .idle
            self.resume()
            self.pool.giveBack(self)
        } else {
            self.close()
        }
        if self.trailers == nil { receiver.answerEnded() } else { self.endWithTrailers(receiver) }
    }

    private func endWithTrailers(_ receiver: any AnswerReceiver) {
        guard let trailers = self.trailers.take() else { return receiver.answerEnded() }
        receiver.answerEnded(with: trailers)
    }

    private func beginTunnel(_ head: ResponseHead, _ buffer: inout ByteBuffer, _ receiver: any AnswerReceiver) {
        self.phase = .tunnel
        self.releaseHead()
        if let group = self.pool.group { group.answered(self.pool, head.status) }
        guard receiver.tunnelBegins(head, buffer) else { return self.close() }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        if buffer.readableBytes > 0 { receiver.tunnelled(buffer) }
    }

    // MARK: The end

    /// Rejects an answer. Its head is at the start of `buffer`.
    private func refuse(_ fault: ResponseFault, _ buffer: ByteBuffer) {
        self.disappoints(.malformed)
        self.pool.room.notify(.upstreamMalformed, fault.rule.rawValue) {
            guard !fault.field.isEmpty else { return nil }
            return buffer.withUnsafeReadableBytes { bytes in
                String(decoding: bytes[fault.field.start..<fault.field.end].prefix(64), as: UTF8.self)
            }
        }
        self.fail(.upstreamMalformed)
    }

    private func fail(_ reason: Reason) {
        let receiver = self.receiver
        self.receiver = nil
        self.close()
        receiver?.upstreamFailed(reason)
    }

    /// Ends the exchange. After a reset, or TLS without close_notify, a body that ends with the close may be cut off.
    package func closed(isClean: Bool) {
        let phase = self.phase
        let receiver = self.receiver
        self.phase = .closed
        self.receiver = nil
        self.pool.remove(self)
        guard let receiver else { return }
        if phase == .head { self.reportFailure() }
        switch phase {
        case .body where isClean && self.body.endsWithConnection: receiver.answerEnded()
        case .body: receiver.upstreamFailed(.upstreamTruncated)
        case .tunnel: receiver.tunnelEnded()
        case .head where self.partial != nil:
            self.pool.room.notify(.upstreamMalformed, ResponseFault.Rule.cutOff.rawValue)
            receiver.upstreamFailed(.upstreamMalformed)
        case .head where !self.hasAnswered:
            if let fault = self.tls?.fault {
                self.pool.room.notify(.upstreamTLS, fault.description)
                receiver.upstreamFailed(.upstreamTLS)
            } else {
                receiver.upstreamFailed(.upstreamReset)
            }
        default: receiver.upstreamFailed(.upstreamReset)
        }
    }
}

extension UpstreamConnection {
    /// Reports that the connection has ended before an answer. If it was reused and no byte has arrived, the server may
    /// only have closed an idle connection, which says nothing about new ones.
    private func reportFailure() {
        let fault: ServerNotice.Fault = self.tls?.fault == nil ? .reset : .tls
        if self.isReused, !self.hasAnswered {
            self.pool.foundClosed(self)
            self.disappoints(fault)
        } else {
            self.pool.group?.failed(self.pool, fault)
        }
    }

    /// Closes a parting connection if the app has acknowledged everything, or accepts nothing more.
    ///
    /// - Returns: True if the connection has closed.
    private func hasParted(_ now: NIODeadline) -> Bool {
        guard self.phase == .parting else { return true }
        let waiting = self.stream.unacknowledgedBytes
        let limit = self.loop.configuration.timeouts.write
        guard waiting == 0 || self.lastOutput.isStuck(waiting, now: now, limit: limit) else { return false }
        self.close()
        return true
    }
}
