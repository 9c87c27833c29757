import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS
import Transport

/// A connection to a provider's server, as the last handler of a channel. It serves one call at a time. Confined to its
/// loop.
final class CallConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    /// The time limit for connecting, without the TLS handshake.
    private static let connectTimeout = TimeAmount.seconds(4)

    let server: CallServer
    /// The owner; `nil` once the end of the connection was reported.
    private weak var owner: CallConnections?
    private var context: ChannelHandlerContext?
    private var channel: PipelineChannel?
    private var exchange: CallExchange?
    private var idleTimer: Scheduled<Void>?
    private var isConnecting = false
    private var isClosed = false
    /// True if the connection was kept open after an earlier call.
    private var isKept = false
    /// True if the answer to the current call has begun.
    private var hasAnswerBegun = false

    init(to server: CallServer, of owner: CallConnections) {
        self.server = server
        self.owner = owner
    }

    // MARK: Opening

    /// Connects, and sends a call. If the call ends before that, closes the connection.
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

    /// Starts TLS in an open tunnel.
    private func tunnelled(_ channel: any Channel) throws {
        if self.isClosed { throw CancellationError() }
        self.exchange?.advance(to: .handshaking)
        try self.addHandlers(to: channel)
    }

    private func addHandlers(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        if let tls = self.server.tls {
            // The certificate of a server without a name is verified by its address.
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
        // With TLS, the request is sent after the handshake, which may be complete already.
        if exchange.step == .connecting {
            if self.server.tls == nil {
                self.send(exchange)
            } else {
                exchange.advance(to: self.server.isTunnelled ? .tunnelling : .handshaking)
            }
        }
    }

    // MARK: Calls

    /// True if a request can be sent now. False if bytes arrived or the connection ended after the last answer.
    var isUsable: Bool { !self.isClosed && self.channel?.isQuiet == true }

    /// Notes that bytes have arrived.
    ///
    /// - Returns: False if no call expects them.
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
        // From now on, the server may act on the request.
        exchange.advance(to: .sent)
        context.write(Self.wrapOutboundOut(.head(exchange.head)), promise: nil)
        if exchange.body.readableBytes > 0 {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(exchange.body))), promise: nil)
        }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Keeps the idle connection open for `time`.
    func rest(for time: TimeAmount) {
        self.idleTimer = self.context?.eventLoop.assumeIsolated().scheduleTask(in: time) { self.close() }
    }

    /// Closes the connection of an unfinished call.
    func giveUp() {
        self.exchange = nil
        self.close()
    }

    /// Closes the connection, and reports its end at once: closing TLS takes seconds if the server is silent.
    func close() {
        // There is no context yet while the tunnel is being opened.
        if let context { context.close(promise: nil) } else { self.channel?.close(promise: nil) }
        self.ended()
    }

    /// Fails the current call, or retries it: a server may close an idle connection before it sees the request.
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

    /// Reports the end to the owner, once. While a connection is being opened, it counts against the limit even if its
    /// call was cancelled.
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
        // No call expects data.
        guard let exchange = self.exchange else { return self.close() }
        switch Self.unwrapInboundIn(data) {
        case .head(let head): exchange.received(head)
        case .body(let part): exchange.received(part)
        case .end:
            self.exchange = nil
            self.isKept = exchange.complete()
            // Handles data first that arrived together with the answer, such as the end of TLS.
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

/// Closes a connection if bytes arrive that no call expects. They would otherwise be read as the next answer.
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
