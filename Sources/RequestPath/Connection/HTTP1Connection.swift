package import AddressIntelligence
package import NIOCore
import Settings
package import Transport
import Vocabulary

/// What counts the clients and knows their addresses. Called on any loop.
package protocol ClientCount: AnyObject, Sendable {
    /// Called now and then with an address from which a signed-in user sends requests.
    func noteSession(_ address: IPAddress, now: NIODeadline)
    /// Called once when a client has left.
    ///
    /// - Parameter isCounted: Whether it counted towards the limit of its address.
    func left(_ address: IPAddress, isCounted: Bool)
}

/// One client's connection: reads requests in order, hands each to the exchange, and writes what the exchange answers.
///
/// Everything here runs on the connection's loop; nothing is shared.
package final class HTTP1Connection {
    /// How often `ClientCount.noteSession` is called at most.
    private static let notePeriod = TimeAmount.minutes(5)

    private let loop: PathLoop
    private let stream: any ClientByteStream
    private let exchange: Exchange
    private let peer: IPAddress
    private let isCounted: Bool
    private let clients: any ClientCount
    private var configuration: PathConfiguration
    private var state: HTTP1State
    /// Bytes that were read and not yet used, except while they are being used.
    private var input: ByteBuffer?
    /// Whether input is being used, so that the rest of it is in nobody's hands.
    private var isUsing = false
    /// Whether the client sends nothing more, except what was read before.
    private var inputHasEnded = false
    private var nextNote = NIODeadline.uptimeNanoseconds(0)
    package var listIndex = -1

    /// - Parameters:
    ///   - stream: The client's, which is started by `open`.
    ///   - peer: The address at the other end.
    ///   - isCounted: Whether the client counts towards the limit of its address.
    ///   - admittedAt: When it was admitted. A busy loop may open its connection much later.
    package init(
        loop: PathLoop,
        stream: any ClientByteStream,
        peer: IPAddress,
        isCounted: Bool,
        admittedAt: NIODeadline,
        clients: any ClientCount
    ) {
        self.loop = loop
        self.stream = stream
        self.exchange = Exchange(loop: loop, peer: peer)
        self.peer = peer
        self.isCounted = isCounted
        self.clients = clients
        self.configuration = loop.configuration
        self.state = HTTP1State(now: admittedAt, deadline: admittedAt + self.configuration.timeouts.header)
    }

    /// Begins to read from the client.
    package func open() {
        self.exchange.attach(self)
        self.loop.add(self)
        do {
            try self.stream.start(self)
        } catch {
            self.stream.close()
            self.closed(isClean: false)
        }
    }

    // MARK: Input

    /// Uses the input that was kept.
    private func useInput() {
        guard var buffer = self.input.take() else { return }
        self.useAndKeep(&buffer)
    }

    /// Uses input and keeps the rest.
    @inline(__always)
    private func useAndKeep(_ buffer: inout ByteBuffer) {
        self.isUsing = true
        self.use(&buffer)
        self.isUsing = false
        self.keep(buffer)
        if self.inputHasEnded { self.endIfOver() }
    }

    /// Ends the connection if nothing can come of it any more, because the client sends no more.
    private func endIfOver() {
        switch self.state.state {
        case .idle where self.input == nil, .head:
            self.linger()
        case .exchange where self.input == nil && !self.exchange.clientEnded():
            self.stream.close()
        case .draining where self.input == nil:
            self.stream.close()
        case .idle, .exchange, .tunnel, .draining, .lingering, .closed:
            break
        }
    }

    /// Keeps the unused bytes, unless nothing more is read from this client. They are copied if they are few: the buffer
    /// may be the loop's, and a client that sends slowly must not hold a large one.
    @inline(__always)
    private func keep(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        guard count > 0, !self.state.ignoresInput else { return }
        let isLarge = buffer.storageCapacity > max(4096, 2 * count)
        self.input = isLarge ? ByteBuffer(bytes: buffer.readableBytesView) : buffer
    }

    /// Uses as much of the buffer as the state allows: one iteration per request, without recursion for pipelined ones.
    private func use(_ buffer: inout ByteBuffer) {
        while buffer.readableBytes > 0 {
            switch self.state.state {
            case .idle where !self.stream.isWritable:
                // The next request waits until the client reads: the answers to many would fill the memory.
                return self.stream.pause()
            case .idle, .head:
                if !self.readHead(&buffer) { return }
            case .exchange:
                switch self.exchange.bodyDemand {
                case .now:
                    self.exchange.takeBody(&buffer)
                    if self.stream.isPaused { return }
                case .soon:
                    return
                case .ended:
                    // Pipelined requests wait. Reading pauses, so that a client cannot fill the memory meanwhile.
                    if buffer.readableBytes >= 65_536 { self.stream.pause() }
                    return
                case .wait:
                    return self.stream.pause()
                case .discard:
                    return buffer.clear()
                }
            case .draining:
                let step = self.state.drain(
                    &buffer,
                    limit: self.configuration.limits.drainBody,
                    now: self.loop.now,
                    idle: self.configuration.timeouts.idle
                )
                if step == .linger { self.linger() } else { self.resumeReading() }
            case .tunnel:
                self.exchange.tunnelToUpstream(buffer)
                return buffer.clear()
            case .lingering, .closed:
                return
            }
        }
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
}

// MARK: The client's bytes

extension HTTP1Connection: StreamHandler {
    package func received(_ buffer: inout ByteBuffer) {
        if self.state.isTunnel { return self.exchange.tunnelToUpstream(buffer) }
        if self.state.ignoresInput { return }
        if var input = self.input.take() {
            // Used bytes would otherwise stay in front of the appended ones for as long as the client pipelines.
            if input.readerIndex > 4096, input.readerIndex >= input.readableBytes { input.discardReadBytes() }
            input.writeBuffer(&buffer)
            self.useAndKeep(&input)
        } else {
            self.useAndKeep(&buffer)
        }
    }

    package func inputEnded() -> Bool {
        self.inputHasEnded = true
        switch self.state.state {
        case .exchange:
            // What was read before may still complete the request, or be the next one.
            return self.input != nil || self.exchange.clientEnded()
        case .tunnel:
            return self.exchange.clientEnded()
        case .idle, .head, .draining:
            return false
        case .lingering:
            // It has all that it will get, or gets it from the system.
            return false
        case .closed:
            return false
        }
    }

    package func becameWritable() {
        self.exchange.clientTakesBytes()
        guard self.state.isIdle else { return }
        self.resumeReading()
        self.useInput()
    }

    package func allSent() {
        self.exchange.outputSent()
    }

    package func closed(isClean: Bool) {
        self.clients.left(self.peer, isCounted: self.isCounted)
        if self.state.closed() {
            self.loop.remove(self)
            self.input = nil
            self.exchange.clientLeft()
        }
        self.exchange.detach()
    }
}

// MARK: The client's side of an exchange

extension HTTP1Connection: ClientStream {
    @inline(__always)
    package func write(_ bytes: ByteBuffer) {
        self.stream.write(bytes)
    }

    package func writeAndFlush(_ bytes: ByteBuffer) {
        self.stream.writeAndFlush(bytes)
    }

    package func flush() {
        self.stream.flush()
    }

    package var isWritable: Bool { self.stream.isWritable }

    package var unsentBytes: Int { self.stream.unsentBytes }

    package var unacknowledgedBytes: Int { self.stream.unacknowledgedBytes }

    package func pauseReading() {
        self.stream.pause()
    }

    package func resumeReading() {
        self.stream.resume()
    }

    package func passBody() {
        self.useInput()
    }

    package func signedIn() {
        guard self.loop.now >= self.nextNote else { return }
        self.nextNote = self.loop.now + Self.notePeriod
        self.clients.noteSession(self.peer, now: self.loop.now)
    }

    package func beginTunnel() {
        self.state.upgraded()
        self.resumeReading()
        // Bytes that the client sent after its request have waited until the upgrade was confirmed.
        if let input = self.input {
            self.input = nil
            self.exchange.tunnelToUpstream(input)
        }
        if self.inputHasEnded { _ = self.exchange.clientEnded() }
    }

    package func answerEnded(_ end: AnswerEnd) {
        let timeouts = self.configuration.timeouts
        switch self.state.answerEnded(end, now: self.loop.now, idle: timeouts.idle, drain: timeouts.bodyGrace) {
        case .readOn:
            self.resumeReading()
            // Waiting bytes are a pipelined request. If input is being used already, that continues.
            if self.isUsing { return }
            self.useInput()
            if self.inputHasEnded { self.endIfOver() }
        case .linger:
            self.linger()
        case .none:
            break
        }
    }

    /// Closes with RST, which a client cannot mistake for the end of a body without length.
    package func abort() {
        guard self.state.closed() else { return }
        self.loop.remove(self)
        self.input = nil
        self.stream.reset()
    }

    /// Sends the end of the stream and reads on for a moment: closing at once would destroy an answer that the client has
    /// not read yet (RFC 9112 9.6).
    private func linger() {
        guard self.state.linger() else { return }
        self.input = nil
        self.resumeReading()
        self.stream.endOutput()
    }
}

// MARK: The loop's connection

extension HTTP1Connection: LoopConnection {
    package var quietSince: NIODeadline? { self.state.quietSince }
    package var isBusy: Bool { !self.state.isIdle || self.state.awaitsFirstRequest(self.loop.now) }

    package func sweep(_ now: NIODeadline) {
        let timeouts = self.configuration.timeouts
        let action = self.state.sweep(
            now,
            closesIdle: self.loop.closesIdle,
            idle: timeouts.idle,
            write: timeouts.write,
            unacknowledged: { self.stream.unacknowledgedBytes }
        )
        switch action {
        case .none:
            break
        case .linger:
            self.linger()
        case .refuseHead:
            _ = self.requestBegins(keepsAlive: false)
            self.exchange.refuse(.requestTimeout, self.input ?? ByteBuffer(), by: self.configuration)
        case .close:
            self.closeNow()
        case .reset:
            self.abort()
        case .sweepExchange:
            self.exchange.sweep(now)
        }
    }

    package func closeNow() {
        guard !self.state.isClosed else { return }
        if self.state.isInExchange || self.state.isTunnel, self.exchange.breakOff() { return }
        self.stream.close()
    }
}
