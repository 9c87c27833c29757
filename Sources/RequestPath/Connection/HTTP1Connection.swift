package import NIOCore
import Settings
package import Transport
import Vocabulary

/// One client's HTTP/1 connection. It reads requests in order, passes them to its exchange, and writes the answers.
///
/// Runs only on the connection's event loop.
package final class HTTP1Connection {
    package let loop: PathLoop
    let stream: any ClientByteStream
    // A stored copy, because `loop.stage` would retain the stage at each use.
    let stage: Stage
    let exchange: Exchange
    let place: ConnectionGate.Place
    var configuration: PathConfiguration
    var state: HTTP1State
    /// The current request and its answer.
    var message = HTTP1Message()
    /// The decoder of the request's body.
    var body = BodyDecoder(.none)
    /// The request's trailers. `nil` if no trailer has arrived.
    var trailers: TrailerSection?
    /// The part of the answer that is collected in `stage` and not yet flushed.
    var collection = Stage.Collection()
    /// True if `collection` contains the head of the app's answer.
    var hasCollectedHead = false
    /// True while the system has not yet accepted the end of the answer.
    var isSendingEnd = false
    /// The gateway's answer while it waits for the rest of the request's body. `nil` if no answer waits.
    var earlyAnswer: EarlyAnswer?
    /// Received bytes that are not used yet. `nil` if there are none, or while `use` has them.
    var input: ByteBuffer?
    /// True while `use` has the received bytes.
    var isUsing = false
    /// True once the client has ended its stream. Received bytes may remain.
    var inputHasEnded = false
    var sessionNotes = SessionNotes()
    package var listIndex = -1

    /// - Parameters:
    ///   - stream: The client's stream. Not started yet.
    ///   - place: The client's place at the gate. Given back when the connection closes.
    ///   - acceptedAt: When the client was accepted. A busy loop may open the connection much later.
    ///   - service: The service for the requests of the connection.
    ///   - facts: What is known about the client from the opening of its connection. `nil` if nothing.
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

    /// Uses received bytes and keeps the unused rest.
    @inline(__always)
    private func useAndKeep(_ buffer: inout ByteBuffer) {
        self.isUsing = true
        self.use(&buffer)
        self.isUsing = false
        self.keep(buffer)
        if self.inputHasEnded { self.endIfOver() }
    }

    /// Ends the connection if the client has ended its stream and nothing remains to be done.
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

    /// Ends the output but keeps reading for a moment. Closing at once could destroy an unread answer (RFC 9112 9.6).
    func linger() {
        guard self.state.linger() else { return }
        self.input = nil
        self.resumeReading()
        self.stream.endOutput()
    }

    /// Keeps the unused bytes for later. A few bytes in a large buffer are copied, so that a slow client does not hold
    /// the large buffer.
    @inline(__always)
    private func keep(_ buffer: ByteBuffer) {
        let count = buffer.readableBytes
        guard count > 0, !self.state.ignoresInput else { return }
        let isLarge = buffer.storageCapacity > max(4096, 2 * count)
        self.input = isLarge ? ByteBuffer(bytes: buffer.readableBytesView) : buffer
    }

    /// Uses as many bytes as the state allows. Each iteration handles at most one request.
    private func use(_ buffer: inout ByteBuffer) {
        while buffer.readableBytes > 0 {
            switch self.state.state {
            case .idle where !self.stream.isWritable:
                // The next request waits until the client reads, because many unread answers would fill the memory.
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

    /// Passes the body's bytes in the buffer to the exchange, as far as it accepts them. Returns false if the rest of
    /// the buffer must wait.
    @inline(__always)
    private func useInExchange(_ buffer: inout ByteBuffer) -> Bool {
        if self.isSendingEnd, !self.message.keepsAlive {
            buffer.clear()
            return false
        }
        if self.exchange.awaitsBody {
            self.exchange.bodyArrives()
            // If `bodyArrives` caused an answer, the bytes are discarded or belong to the next request.
            guard case .exchange = self.state.state, !self.isSendingEnd else { return true }
        }
        let demand = self.exchange.bodyDemand
        if demand == .wait {
            self.stream.pause()
        } else if self.body.isDone {
            // Pipelined requests wait. Reading pauses, so that they cannot fill the memory.
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

    /// Parses a head from the front of `buffer`. Returns false if the head is incomplete.
    private func readHead(_ buffer: inout ByteBuffer) -> Bool {
        if self.configuration !== self.loop.configuration { self.configuration = self.loop.configuration }
        // The connection keeps this configuration until the next head.
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

    /// Answers an invalid or late head.
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
            // Without this, used bytes would accumulate while the client pipelines requests.
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
            // Received bytes may still complete the request or be the next one.
            return self.input != nil || self.exchange.clientEnded()
        case .tunnel:
            return self.exchange.clientEnded()
        case .draining:
            self.sendEarlyAnswer(isWhole: false)
            return self.isSendingEnd
        case .idle, .head:
            return false
        case .lingering:
            // The rest of the answer is already with the system.
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
            // Requests fail once the client's certificate has expired, so the connection closes.
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
