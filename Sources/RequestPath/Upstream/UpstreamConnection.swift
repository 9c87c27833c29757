import Glibc
package import NIOCore
import Vocabulary

/// One connection to an app. It carries one exchange at a time and is given back only when both messages ended where
/// their framing said and not a byte more has come (CVE-2026-71324). What comes after that but before the next request
/// has left closes it, and that request goes over a new one.
///
/// ```
///            send           head parsed            body ended
///   idle ──────────▶ head ──────────────▶ body ──────────────▶ idle, or closed
///                      │ 101 to a WebSocket request
///                      └──────────────────▶ tunnel ──▶ closed
/// ```
package final class UpstreamConnection: ChannelDuplexHandler, AppConnection, AppStream, TurnEndSender {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private enum Phase { case idle, head, body, tunnel, closed }

    let pool: UpstreamPool
    private var context: ChannelHandlerContext?
    /// Whose exchange this is.
    private var receiver: (any AnswerReceiver)?
    /// What was sent, until the app's answer begins.
    private var head: PermittedHead?
    private var phase = Phase.idle
    private var partial: ByteBuffer?
    private var keepsAlive = true
    private var frames = WebSocketFrames()
    /// The request's head has left; nothing of it has before.
    package private(set) var hasSent = false
    /// A byte of the answer has come: from here on nothing is sent again.
    package private(set) var hasAnswered = false
    /// For whom it is kept.
    private(set) var owner = UpstreamPool.Owner.anybody
    /// More than the answer may come: it had no content, or came before the request was whole.
    private(set) var isDoubtful = false
    var idleSince = NIODeadline.uptimeNanoseconds(0)
    private var isPaused = false
    private var hasPendingRead = false
    /// The connection ended with an error: what it carried until then is not whole, whatever its framing allows.
    private var hasFailed = false
    /// Interim answers of this exchange.
    private var interimCount = 0
    private static let mostInterimAnswers = 16

    package init(pool: UpstreamPool) {
        self.pool = pool
    }

    // MARK: The exchange

    package func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream {
        self.receiver = receiver
        self.phase = .head
        self.hasSent = false
        self.hasAnswered = false
        self.keepsAlive = true
        self.interimCount = 0
        if self.pool.isStrict { self.owner = UpstreamPool.Owner(head.session) }
        self.write(head.bytes)
        self.head = consume head
        self.pool.loop.flushSoon(self)
        return self
    }

    package func takeBack() -> PermittedHead? { self.head.take() }

    private func releaseHead() {
        if let head = self.head.take() { self.pool.loop.giveBack(head.intoBuffer()) }
    }

    /// The turn in which the request was judged has ended: its head leaves, and with it what there is of its body.
    @inline(__always)
    package func send() {
        if self.isDoubtful, self.phase == .head, !self.hasSent, self.hasUnreadBytes { return self.refuseUnasked() }
        self.hasSent = true
        self.receiver?.headLeaves()
        self.context?.flush()
    }

    /// It may carry another exchange. A write that fails closes the channel at once, from within.
    package var isUsable: Bool { self.phase == .idle && self.context?.channel.isActive == true }

    package func abandon() {
        self.receiver = nil
        self.releaseHead()
        self.close()
    }

    package func close() {
        guard self.phase != .closed else { return }
        self.phase = .closed
        self.context?.close(promise: nil)
    }

    // MARK: Bytes to the app

    @inline(__always)
    package func write(_ bytes: ByteBuffer) {
        self.context?.write(NIOAny(bytes), promise: nil)
    }

    package func writeAndFlush(_ bytes: ByteBuffer) {
        self.context?.writeAndFlush(NIOAny(bytes), promise: nil)
    }

    package func flush() {
        self.context?.flush()
    }

    package var isWritable: Bool { self.context?.channel.isWritable ?? false }
    package var isBetweenFrames: Bool { self.frames.isBetweenFrames }

    // MARK: Back-pressure

    package func read(context: ChannelHandlerContext) {
        if self.isPaused { self.hasPendingRead = true } else { context.read() }
    }

    /// The client does not take what has come already: nothing more is read for it.
    @inline(__always)
    package func pause() {
        self.isPaused = true
    }

    package func resume() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.hasPendingRead {
            self.hasPendingRead = false
            self.context?.read()
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.receiver?.upstreamTakesBytes() }
    }

    // MARK: What the app sends

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = self.unwrapInboundIn(data)
        switch self.phase {
        case .head where !self.hasSent:
            self.refuseUnasked()
        case .head:
            self.hasAnswered = true
            if var partial = self.partial {
                self.partial = nil
                partial.writeBuffer(&buffer)
                self.readHead(&partial)
            } else {
                self.readHead(&buffer)
            }
        case .body:
            guard let receiver = self.receiver else { return self.close() }
            self.goOn(receiver.answerContinues(&buffer), leftOver: buffer.readableBytes, receiver)
        case .tunnel:
            buffer.withUnsafeReadableBytes { self.frames.pass($0.assumingMemoryBound(to: UInt8.self)) }
            self.receiver?.tunnelled(buffer)
        case .idle:
            self.refuseUnasked()
        case .closed:
            break
        }
    }

    /// Something came before our request has left, so it is no answer to it but belongs to an earlier exchange. The next
    /// user of this connection must not get it.
    private func refuseUnasked() {
        self.pool.countUnasked()
        let receiver = self.receiver
        self.receiver = nil
        self.close()
        receiver?.upstreamSpokeFirst()
    }

    /// Something has come since the loop looked at its sockets: a system call, for connections that are doubtful.
    private var hasUnreadBytes: Bool {
        let pipeline = self.context?.channel.pipeline.syncOperations
        let count = try? pipeline?.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            var byte: UInt8 = 0
            return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        }
        return (count ?? 0) > 0
    }

    private func readHead(_ buffer: inout ByteBuffer) {
        guard let receiver = self.receiver else { return self.close() }
        let loop = self.pool.loop
        while true {
            let head = loop.responseHead
            let result = buffer.withUnsafeReadableBytes { bytes in
                guard let base = bytes.baseAddress, bytes.count > 0 else { return ResponseParseResult.incomplete }
                return loop.configuration.responseParser.parse(
                    base.assumingMemoryBound(to: UInt8.self),
                    bytes.count,
                    into: head
                )
            }
            switch result {
            case .incomplete:
                if buffer.readableBytes > 0 { self.partial = buffer }
                return
            case .malformed:
                return self.fail(.upstreamMalformed)
            case .complete:
                break
            }
            if head.status == 101 {
                guard receiver.awaitsUpgrade, head.upgradesToWebSocket, head.framing == .untilClose else {
                    return self.fail(.upstreamMalformed)
                }
                return self.beginTunnel(head, &buffer, receiver)
            }
            if head.status < 200 {
                // Interim answers are between the app and us: 100 was given or withheld by the gateway itself.
                self.interimCount += 1
                guard !head.isChunked, head.contentLength == nil, self.interimCount <= Self.mostInterimAnswers else {
                    return self.fail(.upstreamMalformed)
                }
                buffer.moveReaderIndex(forwardBy: head.byteCount)
                buffer.discardReadBytes()
                if buffer.readableBytes == 0 { return }
                continue
            }
            return self.beginAnswer(head, &buffer, receiver)
        }
    }

    private func beginAnswer(_ head: ResponseHead, _ buffer: inout ByteBuffer, _ receiver: any AnswerReceiver) {
        if receiver.method == .head || head.status == 304 { head.framing = .none }
        if head.status == 204 {
            // "MUST NOT send Transfer-Encoding or Content-Length" (RFC 9110 8.6): a body here would be the next answer.
            guard !head.isChunked, (head.contentLength ?? 0) == 0 else { return self.fail(.upstreamMalformed) }
            head.framing = .none
        }
        self.keepsAlive = head.keepsAlive && head.framing != .untilClose && !head.bindsConnection
        self.isDoubtful = head.framing == .none || !receiver.isRequestWhole
        self.phase = .body
        self.releaseHead()
        self.goOn(receiver.answerBegins(head, &buffer), leftOver: buffer.readableBytes, receiver)
    }

    /// Writing to a client that has just gone ends this exchange from within the write, so it is asked first whether the
    /// exchange is still the same.
    @inline(__always)
    private func goOn(_ progress: AnswerProgress, leftOver: Int, _ receiver: any AnswerReceiver) {
        guard self.receiver === receiver, self.phase == .body else { return }
        switch progress {
        case .more, .over: break
        case .full: self.pause()
        case .end: self.finish(leftOver: leftOver, receiver)
        case .malformed: self.fail(.upstreamTruncated)
        }
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
        receiver.answerEnded()
    }

    private func beginTunnel(_ head: ResponseHead, _ buffer: inout ByteBuffer, _ receiver: any AnswerReceiver) {
        self.phase = .tunnel
        self.releaseHead()
        guard receiver.tunnelBegins(head, buffer) else { return self.close() }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        buffer.withUnsafeReadableBytes { self.frames.pass($0.assumingMemoryBound(to: UInt8.self)) }
        if buffer.readableBytes > 0 { receiver.tunnelled(buffer) }
    }

    // MARK: The end

    private func fail(_ reason: Reason) {
        let receiver = self.receiver
        self.receiver = nil
        self.close()
        receiver?.upstreamFailed(reason)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        let phase = self.phase
        let receiver = self.receiver
        self.phase = .closed
        self.receiver = nil
        self.pool.remove(self)
        guard let receiver else { return }
        switch phase {
        case .body: receiver.answerCut(isClean: !self.hasFailed)
        case .tunnel: receiver.tunnelEnded()
        case .head where self.partial != nil: receiver.upstreamFailed(.upstreamMalformed)
        default: receiver.upstreamFailed(.upstreamReset)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset, or TLS that ended without its goodbye: a body that ends with the connection has been cut.
        self.hasFailed = true
        context.close(promise: nil)
    }
}
