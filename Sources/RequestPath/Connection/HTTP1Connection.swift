package import NIOCore
import Settings
package import Transport
import Vocabulary

/// One client's connection. It reads requests in order, hands each to the exchange, and writes the exchange's answers.
///
/// Everything here runs on the connection's loop. Nothing is shared.
package final class HTTP1Connection {
    package let loop: PathLoop
    let stream: any ClientByteStream
    // The loop's stage, stored because each use through the loop would retain it.
    let stage: Stage
    let exchange: Exchange
    let place: ConnectionGate.Place
    var configuration: PathConfiguration
    var state: HTTP1State
    /// The current request and its answer.
    var message = HTTP1Message()
    /// The decoder for the missing rest of the request's body.
    var body = BodyDecoder(.none)
    /// The trailer section of the request. `nil` if no trailer has arrived.
    var trailers: TrailerSection?
    /// The collected part of the answer.
    var collection = Stage.Collection()
    /// True if the collection holds the head of the app's answer.
    var hasCollectedHead = false
    /// True while the answer has ended, but the system has not accepted all of it yet.
    var isSendingEnd = false
    /// The answer that waits for the rest of the request's body. `nil` if no answer waits.
    var earlyAnswer: EarlyAnswer?
    /// Received bytes that have not been used. `nil` if there are no such bytes, or while they are being used.
    var input: ByteBuffer?
    /// True while input is being used. During use, the unused rest is not in `input`.
    var isUsing = false
    /// True once the client sends nothing more. Bytes that were read before may remain.
    var inputHasEnded = false
    var sessionNotes = SessionNotes()
    package var listIndex = -1

    /// - Parameters:
    ///   - stream: The client's stream. `open` starts it.
    ///   - place: The client's place. The connection gives it back.
    ///   - acceptedAt: The time at which the client was accepted. A busy loop may open the connection much later.
    ///   - service: The service for the requests of the connection.
    ///   - facts: The facts that the opening found out about the client. `nil` if there was nothing to find out.
    package init(
        loop: PathLoop,
        stream: any ClientByteStream,
        place: ConnectionGate.Place,
        acceptedAt: NIODeadline,
        service: RequestService = .apps,
        facts: ClientFacts? = nil
    ) {
        self.loop = loop
        self.stream = stream
        self.stage = loop.stage
        self.exchange = Exchange(loop: loop, peer: place.client, service: service, client: facts)
        self.place = place
        self.configuration = loop.configuration
        self.state = HTTP1State(now: acceptedAt, deadline: acceptedAt + self.configuration.timeouts.header)
    }

    // MARK: Input

    func useInput() {
        guard var buffer = self.input.take() else { return }
        self.useAndKeep(&buffer)
    }

    /// Uses input and keeps the rest of it.
    @inline(__always)
    private func useAndKeep(_ buffer: inout ByteBuffer) {
        self.isUsing = true
        self.use(&buffer)
        self.isUsing = false
        self.keep(buffer)
        if self.inputHasEnded { self.endIfOver() }
    }

    /// Ends the connection if it has nothing left to do after the client's input has ended.
    func endIfOver() {
        switch self.state.state {
        case .idle where self.input == nil, .head:
            self.linger()
        case .exchange where self.input == nil && !self.exchange.clientEnded():
            self.stream.close()
        case .draining where self.input == nil:
            self.sendEarlyAnswer(isWhole: false)
        case .idle, .exchange, .tunnel, .draining, .lingering, .closed:
            break
        }
    }

    /// Sends the end of the stream and keeps reading for a moment. Closing at once would destroy an answer that the
    /// client has not read yet (RFC 9112 9.6).
    func linger() {
        guard self.state.linger() else { return }
        self.input = nil
        self.resumeReading()
        self.stream.endOutput()
    }

    /// Keeps the unused bytes, unless nothing more is read from this client. A few bytes in a large buffer are copied:
    /// it may be the loop's buffer, and a client that sends slowly must not hold a large buffer.
    @inline(__always)
    private func keep(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        guard count > 0, !self.state.ignoresInput else { return }
        let isLarge = buffer.storageCapacity > max(4096, 2 * count)
        self.input = isLarge ? ByteBuffer(bytes: buffer.readableBytesView) : buffer
    }

    /// Uses as much of the buffer as the state allows. Each iteration handles one request, without recursion.
    private func use(_ buffer: inout ByteBuffer) {
        while buffer.readableBytes > 0 {
            switch self.state.state {
            case .idle where !self.stream.isWritable:
                // The next request waits until the client reads. Answers to many requests would fill the memory.
                return self.stream.pause()
            case .idle, .head:
                if !self.readHead(&buffer) { return }
            case .exchange:
                if !self.useInExchange(&buffer) { return }
            case .draining:
                let progress = self.state.drain(&buffer, limit: self.configuration.limits.drainBody)
                if progress != .more { self.sendEarlyAnswer(isWhole: progress == .end) }
            case .tunnel:
                self.exchange.tunnelToUpstream(buffer)
                return buffer.clear()
            case .lingering, .closed:
                return
            }
        }
    }

    /// Hands over the part of the request's body in the buffer, as far as the exchange accepts it. Returns false if the
    /// rest of the buffer must wait.
    @inline(__always)
    private func useInExchange(_ buffer: inout ByteBuffer) -> Bool {
        if self.isSendingEnd, !self.message.keepsAlive {
            buffer.clear()
            return false
        }
        if self.exchange.awaitsBody {
            self.exchange.bodyArrives()
            // If the request was answered at once, the bytes are discarded or belong to the next request.
            guard case .exchange = self.state.state, !self.isSendingEnd else { return true }
        }
        let demand = self.exchange.bodyDemand
        if demand == .wait {
            self.stream.pause()
        } else if self.body.isDone {
            // Pipelined requests wait. Reading pauses, so that a client cannot fill the memory in the meantime.
            if buffer.readableBytes >= 65_536 { self.stream.pause() }
        } else if demand == .now {
            self.message.awaitsContinue = false
            let progress = self.body.decode(
                &buffer,
                { self.exchange.takeBody($0, of: &$1) },
                trailers: { self.takeTrailers($0, of: &$1) }
            )
            if progress == .end, let trailers = self.trailers {
                self.trailers = nil
                self.exchange.bodyEnded(with: trailers)
            } else {
                self.exchange.bodyCame(progress)
            }
            return !self.stream.isPaused
        }
        return false
    }

    @inline(never)
    private func takeTrailers(_ count: Int, of content: inout ByteBuffer) {
        if self.message.dropsTrailers { return BodyDecoder.drop(count, of: &content) }
        let section = self.trailers ?? self.configuration.trailerRules.sectionOfRequest
        section.take(count, of: &content)
        self.trailers = section
    }

    /// Parses a head from the front of `buffer`. Returns false if the head is not complete yet.
    private func readHead(_ buffer: inout ByteBuffer) -> Bool {
        if self.configuration !== self.loop.configuration { self.configuration = self.loop.configuration }
        // The configuration is not replaced before the next head.
        return Pinned(self.configuration).use { self.readHead(&buffer, by: $0) }
    }

    @inline(__always)
    private func readHead(_ buffer: inout ByteBuffer, by configuration: PathConfiguration) -> Bool {
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
            self.refuse(refusal, buffer)
            return true
        case .complete:
            let keepsAlive = self.state.requestBegins(
                keepsAlive: head.keepsAlive,
                limit: configuration.limits.requestsPerConnection,
                isDraining: self.loop.isDraining
            )
            self.message = HTTP1Message(head, keepsAlive: keepsAlive)
            self.body = BodyDecoder(head.framing)
            self.exchange.begin(head, &buffer, by: configuration)
            return true
        }
    }

    /// Answers bytes that are not a valid head, or a head that is not complete in time.
    private func refuse(_ reason: Reason, _ bytes: ByteBuffer) {
        _ = self.state.requestBegins(
            keepsAlive: false,
            limit: self.configuration.limits.requestsPerConnection,
            isDraining: self.loop.isDraining
        )
        self.message = HTTP1Message()
        self.body = BodyDecoder(.none)
        self.exchange.refuse(reason, bytes, by: self.configuration)
    }
}

// MARK: The client's bytes

extension HTTP1Connection: ClientConnection {
    package func start() {
        self.exchange.attach(self)
        self.read(from: self.stream)
    }

    package func received(_ buffer: inout ByteBuffer) {
        if self.state.isTunnel { return self.exchange.tunnelToUpstream(buffer) }
        if self.state.ignoresInput { return }
        if var input = self.input.take() {
            // Otherwise, used bytes would accumulate before the unused bytes while the client pipelines.
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
            // Bytes that were read before may still complete the request or be the next request.
            return self.input != nil || self.exchange.clientEnded()
        case .tunnel:
            return self.exchange.clientEnded()
        case .draining:
            self.sendEarlyAnswer(isWhole: false)
            return self.isSendingEnd
        case .idle, .head:
            return false
        case .lingering:
            // The client has the whole answer, or gets the rest of it from the system.
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
        guard self.isSendingEnd else { return }
        self.isSendingEnd = false
        self.answerSent(atOnce: false)
    }

    package func closed(isClean: Bool) {
        self.place.giveBack()
        if self.state.closed() {
            self.loop.remove(self)
            self.input = nil
            self.exchange.clientLeft()
            self.earlyAnswer = nil
        }
        self.exchange.detach()
    }
}

// MARK: The loop's connection

extension HTTP1Connection: LoopConnection {
    package var quietSince: NIODeadline? { self.state.quietSince }
    package var unsentBytes: Int { self.stream.unsentBytes }
    package var isBusy: Bool { !self.state.isIdle || self.state.awaitsFirstRequest(self.loop.now) }

    package func eachRequest(_ body: (any LoopRequest) -> Void) { body(self.exchange) }

    package func sweep(_ now: NIODeadline) {
        let timeouts = self.configuration.timeouts
        let action = self.state.sweep(
            now,
            // After the client's certificate has expired, requests are refused and a new handshake fails.
            closesIdle: self.loop.closesIdle || self.exchange.client?.hasExpired(at: self.loop.wallNow) == true,
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
            self.refuse(.requestTimeout, self.input ?? ByteBuffer())
        case .answer:
            self.sendEarlyAnswer(isWhole: false)
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
