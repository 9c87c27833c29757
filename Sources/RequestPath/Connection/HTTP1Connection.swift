package import AddressIntelligence
package import NIOCore
import Settings
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// One client's connection: reads requests in order, hands each to the exchange, and writes what the exchange answers.
///
/// Everything here runs on the connection's loop; nothing is shared.
package final class HTTP1Connection: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// Called now and then with an address from which a signed-in user sends requests.
    package typealias NoteSession = (_ address: IPAddress, _ now: NIODeadline) -> Void

    /// The largest buffer that an unfinished head keeps while it is smaller than that itself.
    static let unfinishedHeadRoom = 16_384
    /// How often `NoteSession` is called at most.
    private static let notePeriod = TimeAmount.minutes(5)

    private let loop: PathLoop
    private let exchange: Exchange
    private let peer: IPAddress
    private let noteSession: NoteSession
    private var configuration: PathConfiguration
    private var context: ChannelHandlerContext?
    private var state: HTTP1State
    private var gate = ReadGate()
    /// Bytes that were read and not yet used.
    private var input: ByteBuffer?
    private var nextNote = NIODeadline.uptimeNanoseconds(0)
    package var listIndex = -1

    /// - Parameter peer: The address at the other end.
    package init(loop: PathLoop, peer: IPAddress, noteSession: @escaping NoteSession) {
        self.loop = loop
        self.exchange = Exchange(loop: loop, peer: peer)
        self.peer = peer
        self.noteSession = noteSession
        self.configuration = loop.configuration
        self.state = HTTP1State(now: loop.now, deadline: loop.now + loop.configuration.timeouts.header)
    }

    // MARK: Channel events

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.exchange.attach(self)
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.exchange.detach()
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.loop.add(self)
        // To the nanosecond, because it shows whether the connection was accepted before the gateway became crowded.
        let now = NIODeadline.now()
        self.state = HTTP1State(now: now, deadline: now + self.configuration.timeouts.header)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        guard self.state.closed() else { return }
        self.loop.remove(self)
        self.input = nil
        self.exchange.clientLeft()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = self.unwrapInboundIn(data)
        if self.state.isTunnel { return self.exchange.tunnelToUpstream(buffer) }
        if self.state.ignoresInput { return }
        if var input = self.input {
            self.input = nil
            // Used bytes would otherwise stay in front of the appended ones for as long as the client pipelines.
            if input.readerIndex > 4096, input.readerIndex >= input.readableBytes { input.discardReadBytes() }
            input.writeBuffer(&buffer)
            self.input = input
        } else {
            self.input = buffer
        }
        self.useInput()
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.exchange.clientTakesBytes() }
    }

    package func read(context: ChannelHandlerContext) {
        if self.gate.read() { context.read() }
    }

    // MARK: Input

    /// Uses as much of the input as the state allows: one iteration per request, without recursion for pipelined ones.
    private func useInput() {
        while var buffer = self.input, buffer.readableBytes > 0 {
            self.input = nil
            switch self.state.state {
            case .idle, .head:
                let isWhole = self.readHead(&buffer)
                self.keep(buffer)
                if !isWhole { return }
            case .exchange:
                switch self.exchange.bodyDemand {
                case .now:
                    self.exchange.takeBody(&buffer)
                    self.keep(buffer)
                    if self.gate.isPaused { return }
                case .soon:
                    self.input = buffer
                    return
                case .ended:
                    // Pipelined requests wait. Reading pauses, so that a client cannot fill the memory meanwhile.
                    self.input = buffer
                    if buffer.readableBytes >= 65_536 { self.gate.pause() }
                    return
                case .wait:
                    self.input = buffer
                    self.gate.pause()
                    return
                }
            case .draining:
                let step = self.state.drain(
                    &buffer,
                    limit: self.configuration.limits.drainBody,
                    now: self.loop.now,
                    idle: self.configuration.timeouts.idle
                )
                if step == .linger { self.linger() } else { self.resumeReading() }
                self.keep(buffer)
            case .lingering, .tunnel, .closed:
                return
            }
        }
    }

    /// Keeps the unused bytes, unless nothing more is read from this client.
    @inline(__always)
    private func keep(_ buffer: ByteBuffer) {
        if buffer.readableBytes > 0, !self.state.ignoresInput { self.input = buffer }
    }

    /// Parses a head from the front of `buffer`; false when it is not complete yet.
    private func readHead(_ buffer: inout ByteBuffer) -> Bool {
        if self.configuration !== self.loop.configuration { self.configuration = self.loop.configuration }
        let configuration = self.configuration
        guard
            self.state.headComes(
                buffer,
                longestLine: configuration.limits.requestLine,
                now: self.loop.now,
                limit: configuration.timeouts.header
            )
        else { return false }
        let head = self.loop.requestHead
        let result = buffer.withUnsafeReadableBytes { bytes -> ParseResult in
            guard let base = bytes.baseAddress else { return .incomplete }
            return configuration.requestParser.parse(base.assumingMemoryBound(to: UInt8.self), bytes.count, into: head)
        }
        switch result {
        case .incomplete:
            self.state.headIsUnfinished(buffer.readableBytes)
            self.letGoOfRoom(&buffer)
            return false
        case .refused(let refusal):
            _ = self.requestBegins(keepsAlive: false)
            self.exchange.refuse(refusal, buffer, by: configuration)
            return true
        case .complete:
            let keepsAlive = self.requestBegins(keepsAlive: head.keepsAlive)
            self.exchange.begin(head, &buffer, by: configuration, keepsAlive: keepsAlive)
            return true
        }
    }

    @inline(__always)
    private func requestBegins(keepsAlive: Bool) -> Bool {
        self.state.requestBegins(
            keepsAlive: keepsAlive,
            limit: self.configuration.limits.requestsPerConnection,
            isDraining: self.loop.isDraining
        )
    }

    /// Frees memory while a head is incomplete. The head may be in a large buffer after other requests, and NIO keeps
    /// several buffers for a client that has sent a large body. A client that sends a head slowly must not hold either.
    private func letGoOfRoom(_ buffer: inout ByteBuffer) {
        if buffer.storageCapacity > max(4096, 2 * buffer.readableBytes) {
            buffer = ByteBuffer(bytes: buffer.readableBytesView)
        }
        guard self.state.requestCount > 0, let options = self.context?.channel.syncOptions else { return }
        // NIO frees the buffers beyond the number that it may read into at once.
        guard let count = try? options.getOption(.maxMessagesPerRead), count > 1 else { return }
        try? options.setOption(.maxMessagesPerRead, value: 1)
        try? options.setOption(.maxMessagesPerRead, value: count)
    }
}

// MARK: The client's side of an exchange

extension HTTP1Connection: ClientStream {
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

    package var unsentBytes: Int { (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    package func pauseReading() {
        self.gate.pause()
    }

    package func resumeReading() {
        if self.gate.resume() { self.context?.read() }
    }

    package func passBody() {
        self.useInput()
    }

    package func signedIn() {
        guard self.loop.now >= self.nextNote else { return }
        self.nextNote = self.loop.now + Self.notePeriod
        self.noteSession(self.peer, self.loop.now)
    }

    package func beginTunnel() {
        self.state.upgraded()
        self.resumeReading()
        // Bytes that the client sent after its request have waited until the upgrade was confirmed.
        if let input = self.input {
            self.input = nil
            self.exchange.tunnelToUpstream(input)
        }
    }

    package func answerEnded(_ end: AnswerEnd) {
        let timeouts = self.configuration.timeouts
        switch self.state.answerEnded(end, now: self.loop.now, idle: timeouts.idle, drain: timeouts.bodyGrace) {
        case .readOn:
            self.resumeReading()
            // Waiting bytes are a pipelined request. If `useInput` is running already, its loop continues.
            self.useInput()
        case .linger:
            self.linger()
        case .none:
            break
        }
    }

    /// Closes with RST, which a client cannot mistake for the end of a body without length.
    package func abort() {
        guard let context = self.context, self.state.closed() else { return }
        self.loop.remove(self)
        self.input = nil
        if let socket = context.channel as? any SocketOptionProvider {
            socket.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
                context.close(promise: nil)
            }
        } else {
            context.close(promise: nil)
        }
    }

    /// Sends the end of the stream and reads on for a moment: closing at once would destroy an answer that the client has
    /// not read yet (RFC 9112 9.6).
    private func linger() {
        // First the client has the write timeout to read what is queued, then two seconds to finish sending.
        guard let context = self.context,
            self.state.linger(until: self.loop.now + self.configuration.timeouts.write)
        else { return }
        self.input = nil
        self.resumeReading()
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess { self.state.outputEnded(self.loop.now + .seconds(2)) }
        context.close(mode: .output, promise: sent)
    }
}

// MARK: The loop's connection

extension HTTP1Connection: LoopConnection {
    package var quietSince: NIODeadline? { self.state.quietSince }
    package var isBusy: Bool { !self.state.isIdle || self.state.awaitsFirstRequest(self.loop.now) }

    package func sweep(_ now: NIODeadline) {
        switch self.state.sweep(now, closesIdle: self.loop.closesIdle) {
        case .none:
            break
        case .linger:
            self.linger()
        case .refuseHead:
            _ = self.requestBegins(keepsAlive: false)
            self.exchange.refuse(.requestTimeout, self.input ?? ByteBuffer(), by: self.configuration)
        case .close:
            self.closeNow()
        case .sweepExchange:
            self.exchange.sweep(now)
        }
    }

    package func closeNow() {
        guard !self.state.isClosed else { return }
        if self.state.isInExchange, self.exchange.breakOff(.gatewayDraining) { return }
        self.context?.close(promise: nil)
    }
}
