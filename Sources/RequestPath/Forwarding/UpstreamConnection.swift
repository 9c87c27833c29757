import Glibc
import NIOCore
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
final class UpstreamConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase { case idle, head, body, tunnel, closed }

    let pool: UpstreamPool
    private(set) var context: ChannelHandlerContext?
    /// Whose exchange this is.
    private var client: DownstreamConnection?
    private var phase = Phase.idle
    private var partial: ByteBuffer?
    private var relay = BodyRelay(.none)
    private var keepsAlive = true
    private(set) var frames = WebSocketFrames()
    /// The request's head has left; nothing of it has before.
    private(set) var hasSent = false
    /// A byte of the answer has come: from here on nothing is sent again.
    private(set) var hasAnswered = false
    /// For whom it is kept.
    var owner = UpstreamPool.Owner.anybody
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

    init(pool: UpstreamPool) {
        self.pool = pool
    }

    // MARK: The exchange

    /// Begins an exchange: its head and whatever of its body follows will be written by `client`.
    @inline(__always)
    func begin(for client: DownstreamConnection) {
        self.client = client
        self.phase = .head
        self.hasSent = false
        self.hasAnswered = false
        self.keepsAlive = true
        self.interimCount = 0
    }

    /// The turn in which the request was judged has ended: its head leaves, and with it what there is of its body.
    @inline(__always)
    func send() {
        if self.isDoubtful, self.phase == .head, !self.hasSent, self.hasUnreadBytes { return self.refuseUnasked() }
        self.hasSent = true
        self.client?.headLeaves()
        self.context?.flush()
    }

    /// It may carry another exchange. A write that fails closes the channel at once, from within.
    var isUsable: Bool { self.phase == .idle && self.context?.channel.isActive == true }

    /// The client is gone or was answered by us: whatever still comes is nobody's.
    func abandon() {
        self.client = nil
        self.close()
    }

    func close() {
        guard self.phase != .closed else { return }
        self.phase = .closed
        self.context?.close(promise: nil)
    }

    var isWritable: Bool { self.context?.channel.isWritable ?? false }

    // MARK: Back-pressure

    func read(context: ChannelHandlerContext) {
        if self.isPaused { self.hasPendingRead = true } else { context.read() }
    }

    /// The client does not take what has come already: nothing more is read for it.
    @inline(__always)
    func pause() {
        self.isPaused = true
    }

    func resume() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.hasPendingRead {
            self.hasPendingRead = false
            self.context?.read()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.client?.upstreamTakesBytes() }
    }

    // MARK: What the app sends

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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
            self.readBody(&buffer)
        case .tunnel:
            buffer.withUnsafeReadableBytes { self.frames.pass($0.assumingMemoryBound(to: UInt8.self)) }
            self.client?.tunnelled(buffer)
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
        let client = self.client
        self.client = nil
        self.close()
        client?.upstreamSpokeFirst()
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
        guard let client = self.client else { return self.close() }
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
                guard client.awaitsUpgrade, head.upgradesToWebSocket, head.framing == .untilClose else {
                    return self.fail(.upstreamMalformed)
                }
                return self.beginTunnel(head, &buffer, client)
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
            return self.beginAnswer(head, &buffer, client)
        }
    }

    private func beginAnswer(_ head: ResponseHead, _ buffer: inout ByteBuffer, _ client: DownstreamConnection) {
        if client.method == .head || head.status == 304 { head.framing = .none }
        if head.status == 204 {
            // "MUST NOT send Transfer-Encoding or Content-Length" (RFC 9110 8.6): a body here would be the next answer.
            guard !head.isChunked, (head.contentLength ?? 0) == 0 else { return self.fail(.upstreamMalformed) }
            head.framing = .none
        }
        self.keepsAlive = head.keepsAlive && head.framing != .untilClose && !head.bindsConnection
        self.isDoubtful = head.framing == .none || !client.hasSentRequest
        self.relay = BodyRelay(head.framing)
        self.phase = .body
        guard let framing = client.answerBegins(head, buffer) else { return }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        self.pass(&buffer, framing, client, isFirst: true)
    }

    private func readBody(_ buffer: inout ByteBuffer) {
        guard let client = self.client else { return self.close() }
        self.pool.loop.stage.begin()
        self.pass(&buffer, client.answerFraming, client, isFirst: false)
    }

    /// Moves body bytes on to the client; `stage` has been begun and may hold the head.
    ///
    /// Writing to a client that has just gone ends this exchange from within the write: after each flush it is asked
    /// whether the exchange is still ours.
    @inline(__always)
    private func pass(
        _ buffer: inout ByteBuffer,
        _ framing: OutgoingFraming,
        _ client: DownstreamConnection,
        isFirst: Bool
    ) {
        guard let sink = client.context else { return self.close() }
        let before = self.relay.byteCount
        let outcome = self.relay.relay(&buffer, as: framing, through: self.pool.loop.stage, to: sink)
        client.answerPassed(self.relay.byteCount - before)
        self.pool.loop.stage.flush(to: sink, exactly: !isFirst)
        guard self.client === client, self.phase == .body else { return }
        switch outcome {
        case .more:
            if !sink.channel.isWritable { self.pause() }
        case .end:
            self.finish(leftOver: buffer.readableBytes, client)
        case .malformed:
            self.fail(.upstreamTruncated)
        }
    }

    @inline(__always)
    private func finish(leftOver: Int, _ client: DownstreamConnection) {
        self.client = nil
        let isClean = leftOver == 0 && self.keepsAlive && client.hasSentRequest
        if isClean {
            self.phase = .idle
            self.resume()
            self.pool.giveBack(self)
        } else {
            self.close()
        }
        client.answerEnded()
    }

    private func beginTunnel(_ head: ResponseHead, _ buffer: inout ByteBuffer, _ client: DownstreamConnection) {
        self.phase = .tunnel
        guard client.tunnelBegins(head, buffer) else { return self.close() }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        buffer.withUnsafeReadableBytes { self.frames.pass($0.assumingMemoryBound(to: UInt8.self)) }
        if buffer.readableBytes > 0 { client.tunnelled(buffer) }
    }

    // MARK: The end

    private func fail(_ reason: Reason) {
        let client = self.client
        self.client = nil
        self.close()
        client?.upstreamFailed(reason)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let phase = self.phase
        let client = self.client
        self.phase = .closed
        self.client = nil
        self.pool.remove(self)
        guard let client else { return }
        switch phase {
        case .body:
            self.pool.loop.stage.begin()
            let outcome = self.relay.connectionEnded(as: client.answerFraming, through: self.pool.loop.stage)
            guard outcome == .end, !self.hasFailed, let sink = client.context else {
                return client.upstreamFailed(.upstreamTruncated)
            }
            self.pool.loop.stage.flush(to: sink, exactly: true)
            client.answerEnded()
        case .tunnel:
            client.tunnelEnded()
        case .head where self.partial != nil:
            client.upstreamFailed(.upstreamMalformed)
        default:
            client.upstreamFailed(.upstreamReset)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset, or TLS that ended without its goodbye: a body that ends with the connection has been cut.
        self.hasFailed = true
        context.close(promise: nil)
    }
}
