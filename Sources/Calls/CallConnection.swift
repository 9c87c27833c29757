import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import Transport

/// A connection to a server of a provider: the last handler of its channel. It sends one request at a time and is used
/// on its loop only.
final class CallConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// The time limit for opening a connection, without the TLS handshake.
    private static let connectTimeout = TimeAmount.seconds(4)

    let server: CallServer
    /// The owner. `nil` after the connection has reported its end to the owner, or after the client was released.
    private weak var owner: CallConnections?
    private var context: ChannelHandlerContext?
    private var channel: PipelineChannel?
    private var exchange: CallExchange?
    private var idleTimer: Scheduled<Void>?
    private var isConnecting = false
    private var isClosed = false
    /// Whether the server kept the connection open after an earlier answer.
    private var isKept = false
    /// Whether a byte of the answer to the current call has arrived.
    private var hasAnswerBegun = false

    init(to server: CallServer, of owner: CallConnections) {
        self.server = server
        self.owner = owner
    }

    // MARK: Opening

    /// Connects, and sends the request of the call. If the call ends first, the connection closes.
    func open(for exchange: CallExchange) {
        exchange.advance(to: .connecting)
        exchange.connection = self
        self.exchange = exchange
        self.isConnecting = true
        let loop = exchange.answer.eventLoop
        let bound = NIOLoopBound(self, eventLoop: loop)
        let timeout = min(Self.connectTimeout, exchange.deadline - .now())
        let prepare = { @Sendable (channel: any Channel) in try bound.value.prepare(channel) }
        let connected =
            if let address = self.server.peerAddress {
                PipelineChannel.connect(to: address, on: loop, timeout: timeout, prepare)
            } else {
                PipelineChannel.connect(
                    toHost: self.server.peer.host,
                    port: self.server.peer.port,
                    on: loop,
                    timeout: timeout,
                    prepare
                )
            }
        connected.assumeIsolated().whenComplete { result in
            self.isConnecting = false
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let error): self.failed(error)
            }
        }
    }

    private func prepare(_ channel: any Channel) throws {
        if self.isClosed { throw CancellationError() }
        guard let proxy = self.server.proxy, self.server.isTunnelled else { return try self.addHandlers(to: channel) }
        let tunnel = ProxyTunnel(
            to: self.server,
            through: proxy,
            whenOpen: { channel in try self.tunnelled(channel) },
            whenFailed: { self.failed($0) }
        )
        try channel.pipeline.syncOperations.addHandler(tunnel)
    }

    /// Continues with TLS when the tunnel to the server is open.
    private func tunnelled(_ channel: any Channel) throws {
        if self.isClosed { throw CancellationError() }
        self.exchange?.advance(to: .handshaking)
        try self.addHandlers(to: channel)
    }

    private func addHandlers(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls = self.server.tls {
            // The certificate of a server without a name is verified against the address.
            let name = self.server.isAddress ? nil : self.server.host
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
        }
        try pipeline.addHandler(UnaskedBytes(self))
        try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
        try pipeline.addHandler(self)
    }

    private func connected(_ channel: PipelineChannel) {
        self.channel = channel
        guard let exchange = self.exchange, !self.isClosed else {
            channel.close(promise: nil)
            return self.left()
        }
        // With TLS, the request is sent when the handshake is complete. This may have happened already.
        if exchange.step == .connecting {
            if self.server.tls == nil {
                self.send(exchange)
            } else {
                exchange.advance(to: self.server.isTunnelled ? .tunnelling : .handshaking)
            }
        }
    }

    // MARK: Calls

    /// Whether a request can be sent now. False if bytes or the connection's end came after the last answer.
    var isUsable: Bool { !self.isClosed && self.channel?.isQuiet == true }

    /// Notes that bytes have arrived.
    ///
    /// - Returns: Whether the bytes belong to an answer.
    func bytesArrived() -> Bool {
        self.hasAnswerBegun = self.exchange?.step == .sent
        return self.hasAnswerBegun
    }

    func send(_ exchange: CallExchange) {
        guard let context = self.context else { return exchange.fail(AnswerCutShort()) }
        self.idleTimer.take()?.cancel()
        self.exchange = exchange
        exchange.connection = self
        self.hasAnswerBegun = false
        // From here on the server may act on the request.
        exchange.advance(to: .sent)
        context.write(Self.wrapOutboundOut(.head(exchange.head)), promise: nil)
        if exchange.body.readableBytes > 0 {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(exchange.body))), promise: nil)
        }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Waits for another call, and closes if none comes within `time`.
    func rest(for time: TimeAmount) {
        self.idleTimer = self.context?.eventLoop.assumeIsolated().scheduleTask(in: time) { self.close() }
    }

    /// Closes the connection of a call that ended before its answer was complete.
    func giveUp() {
        self.exchange = nil
        self.close()
    }

    /// Closes the connection, and reports its end at once so that a new connection may be opened. Closing TLS takes
    /// seconds if the server is silent.
    func close() {
        // Without a context the tunnel through a proxy is not open yet.
        if let context { context.close(promise: nil) } else { self.channel?.close(promise: nil) }
        self.ended()
    }

    /// Handles the loss of a call's connection. A reused connection may have ended before the server saw the request;
    /// the call is then retried if that is safe.
    private func lose(_ error: any Error) {
        guard let exchange = self.exchange.take() else { return }
        guard self.isKept, !self.hasAnswerBegun, exchange.takesKeptConnection, let owner = self.owner else {
            return exchange.fail(error)
        }
        owner.beginAgain(exchange)
    }

    private func failed(_ error: any Error) {
        self.lose(error)
        self.close()
        self.left()
    }

    private func ended() {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.idleTimer.take()?.cancel()
        self.lose(AnswerCutShort())
        self.left()
    }

    /// Reports the end to the owner, once. A connection that is being opened is part of the owner's limit even after
    /// its call has ended, so cancelled calls cannot open an unlimited number of connections.
    private func left() {
        guard self.isClosed, !self.isConnecting else { return }
        self.owner.take()?.closed(self)
    }

    // MARK: ChannelInboundHandler

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            if let exchange = self.exchange { self.send(exchange) } else { self.close() }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // No call is under way.
        guard let exchange = self.exchange else { return self.close() }
        switch Self.unwrapInboundIn(data) {
        case .head(let head): exchange.received(head)
        case .body(let part): exchange.received(part)
        case .end:
            self.exchange = nil
            self.isKept = exchange.complete()
            // Other data that arrived with the answer, including the end of TLS, is handled first.
            context.eventLoop.assumeIsolated().execute {
                if self.isKept, self.isUsable { self.owner?.free(self) } else { self.close() }
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.failed(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.ended()
    }
}

/// Closes a connection if bytes arrive that no call asked for. Otherwise they would be read as the next answer.
private final class UnaskedBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private unowned let connection: CallConnection

    init(_ connection: CallConnection) {
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.connection.bytesArrived() { context.fireChannelRead(data) } else { self.connection.close() }
    }
}
