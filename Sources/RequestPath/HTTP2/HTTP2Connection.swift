package import NIOCore
import Settings
package import Transport
import Vocabulary

/// One client's connection of HTTP/2: it has a session for the frames, and a stream with an exchange for each request.
/// What they have to send is collected until the turn ends, and leaves in one write.
///
/// ```
///   open ─▶ leaving ─▶ left ─▶ lingering ─▶ closed
///             │          └ no other stream is served: the connection ends with the last one
///             └ the client is told to open no more; what it sent before is served
/// ```
/// From every state except `closed` it may also close at once. Everything here runs on the connection's loop.
package final class HTTP2Connection {
    enum Phase {
        case open
        case leaving(until: NIODeadline)
        case left
        /// `isPatient`: as long as the client takes what it was sent.
        case lingering(until: NIODeadline, isPatient: Bool)
        case closed
    }

    /// The bytes with which a client begins (RFC 9113 3.4).
    package static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// So many bytes of answers may wait on a connection before its apps are not read.
    static let highMark = 1 << 20
    /// How long a client has to learn that the connection ends, before streams are not served (RFC 9113 6.8).
    static let noticeTime = TimeAmount.seconds(1)

    package let loop: PathLoop
    let scratch: HTTP2Scratch
    let stream: any ClientByteStream
    let place: ConnectionGate.Place
    let facts: ClientFacts?
    private let isSecure: Bool
    var configuration: PathConfiguration
    private(set) var session: HTTP2Session?
    private(set) var phase = Phase.open
    private var budget: HTTP2Budget
    private var excess: HTTP2Excess?
    /// Whether it was counted why the connection ends.
    private var isCounted = false
    private var head: HTTP2RequestHead
    /// The stream whose fields are coming, and since when.
    private var headStream: HTTP2Stream?
    private var fieldsSince: NIODeadline?
    private var fieldsStream: Int32 = 0
    private var streams: [HTTP2Stream] = []
    /// Streams that have closed, whose exchanges go on.
    private var abandoned: [HTTP2Stream] = []
    /// Streams that can be used again.
    private var spares = Spares<HTTP2Stream>(limit: 100)
    /// Streams whose bodies are to be passed on.
    private var fresh: [HTTP2Stream] = []
    private var requestCount = 0
    private var isSendDue = false
    /// Whether the client has sent its settings, which it does first.
    private var hasBegun = false
    private var inputHasEnded = false
    /// The time since which there is no stream.
    private var idleSince: NIODeadline
    private let acceptedAt: NIODeadline
    private var outputWatch = OutputWatch()
    private var sessionNotes = SessionNotes()
    /// The bytes of answers that the session has not taken.
    var queuedBytes = 0
    /// The number of streams with a wide window.
    var wideCount = 0
    /// Whether the client has taken bytes of a stream that waits for it.
    var hasRelieved = false
    package var listIndex = -1

    /// - Parameters:
    ///   - stream: The client's, which is started by `open`.
    ///   - place: The client's, which the connection gives back.
    ///   - acceptedAt: When the client was accepted.
    ///   - isSecure: Whether the stream has TLS.
    ///   - facts: What the opening of the connection has found out about the client; nil: it had nothing to find out.
    package init(
        loop: PathLoop,
        stream: any ClientByteStream,
        place: ConnectionGate.Place,
        acceptedAt: NIODeadline,
        isSecure: Bool,
        facts: ClientFacts? = nil
    ) {
        self.loop = loop
        self.scratch = .of(loop)
        self.stream = stream
        self.place = place
        self.isSecure = isSecure
        self.facts = facts
        self.acceptedAt = acceptedAt
        self.idleSince = acceptedAt
        self.configuration = loop.configuration
        self.budget = HTTP2Budget(now: acceptedAt)
        self.head = HTTP2RequestHead(limits: loop.configuration.requestParser.limits)
    }

    /// The connection that a session was made for.
    @inline(__always)
    static func of(_ owner: UnsafeMutableRawPointer?) -> HTTP2Connection {
        guard let owner else { preconditionFailure("a session has no connection") }
        return Unmanaged<HTTP2Connection>.fromOpaque(owner).takeUnretainedValue()
    }

    // MARK: What the session tells

    /// Counts a frame. False: nothing more is read.
    func frameBegins(_ type: UInt8) -> Bool {
        let type = HTTP2FrameType(rawValue: type)
        if type == .settings { self.hasBegun = true }
        return self.spend(self.budget.frame(type, now: self.loop.now))
    }

    /// False: the stream is refused.
    func fieldsBegin(of id: Int32, ofRequest isRequest: Bool) -> Bool {
        self.fieldsSince = self.loop.now
        self.fieldsStream = id
        self.headStream = nil
        guard isRequest else { return true }
        self.forgetEnded()
        // A reload is for the next request, whatever is open: an event stream may be for hours.
        if self.configuration !== self.loop.configuration {
            self.configuration = self.loop.configuration
            self.head = HTTP2RequestHead(limits: self.configuration.requestParser.limits)
        }
        // A stream that was reset may have left work behind: its place is free when that has ended (CVE-2023-44487). And the
        // client sends again what came too late for the last GOAWAY (RFC 9113 6.8).
        guard !self.isLeft, self.streams.count + self.abandoned.count < self.configuration.limits.http2.streams else {
            self.session?.reset(id, .refusedStream)
            return false
        }
        let stream = self.spares.take() ?? HTTP2Stream(on: self)
        stream.listIndex = self.streams.count
        self.streams.append(stream)
        stream.open(id)
        self.session?.attach(stream, to: id)
        self.headStream = stream
        self.head.begin()
        return true
    }

    /// False: the stream ends.
    @inline(__always)
    func fieldComes(of id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        self.budget.fieldCame(name.count &+ value.count)
        guard self.headStream?.id == id else { return self.trailerComes(of: id, name, value) }
        self.head.append(name, value)
        guard self.head.isFarTooLarge else { return true }
        self.session?.reset(id, .enhanceYourCalm)
        return false
    }

    /// Ends a stream with a field that the library refuses.
    func fieldIsInvalid(of id: Int32) {
        self.session?.reset(id, .protocolError)
    }

    func fieldsEnd(of id: Int32, ofRequest isRequest: Bool, endsStream: Bool) {
        self.fieldsSince = nil
        guard isRequest else { return self.streamInputEnds(id) }
        guard let stream = self.headStream, stream.id == id else { return }
        self.headStream = nil
        self.requestCount += 1
        if self.requestCount >= self.configuration.limits.requestsPerConnection { self.leave(self.loop.now) }
        var buffer = self.loop.takeBuffer()
        self.begin(stream, &buffer, endsStream: endsStream)
        self.loop.giveBack(buffer)
    }

    /// Writes the head as HTTP/1, and begins the exchange. A request that says that it has no content begins when its stream
    /// ends: content would make it malformed, and then no app may get it (RFC 9113 8.1.1).
    private func begin(_ stream: HTTP2Stream, _ buffer: inout ByteBuffer, endsStream: Bool) {
        let outcome = self.head.write(
            isSecure: self.isSecure,
            endsStream: endsStream,
            webSocketKey: self.head.opensWebSocket ? stream.makeWebSocketKey() : [],
            into: &buffer
        )
        switch outcome {
        case .malformed:
            self.session?.reset(stream.id, .protocolError)
        case .refused(let reason):
            self.head.writeRefused(into: &buffer)
            stream.refuse(reason, buffer, endsStream: endsStream, by: self.configuration)
        case .written where !endsStream && self.head.declaresNoContent:
            stream.keep(buffer, now: self.loop.now)
        case .written:
            self.beginExchange(stream, &buffer, endsStream: endsStream)
        }
    }

    /// Parses the head, and begins the exchange by the loop's settings: a reload may have come since the fields began.
    private func beginExchange(_ stream: HTTP2Stream, _ buffer: inout ByteBuffer, endsStream: Bool) {
        let configuration = self.loop.configuration
        let head = self.loop.requestHead
        let result = buffer.withUnsafeReadableBytes { bytes -> ParseResult in
            guard let base = bytes.baseAddress else { return .incomplete }
            let start = base.assumingMemoryBound(to: UInt8.self)
            return configuration.requestParser.parse(start, bytes.count, into: head)
        }
        switch result {
        case .complete where head.byteCount == buffer.readableBytes && !head.hasTransferEncoding:
            stream.begin(head, &buffer, endsStream: endsStream, by: configuration)
        case .complete, .incomplete:
            self.session?.reset(stream.id, .protocolError)
        case .refused(let reason):
            stream.refuse(reason, buffer, endsStream: endsStream, by: configuration)
        }
    }

    func dataCome(of id: Int32, _ bytes: UnsafeRawBufferPointer) {
        self.budget.dataCame(bytes.count)
        guard let stream = self.session?.stream(id) else { return self.consume(bytes.count) }
        stream.dataCame(bytes)
        self.pass(stream)
    }

    /// False: nothing more is read.
    func emptyDataCome() -> Bool { self.spend(self.budget.emptyDataCame()) }

    func streamInputEnds(_ id: Int32) {
        guard let stream = self.session?.stream(id) else { return }
        if var buffer = stream.takeHead() { return self.beginExchange(stream, &buffer, endsStream: true) }
        stream.inputEnds()
        self.pass(stream)
    }

    func dataSent(_ count: Int) { self.budget.dataSent(count) }

    func fieldsSent() { self.budget.fieldsSent() }

    /// Called when the client is told that a stream was reset, just before it closes.
    func resetSent(on id: Int32, _ code: UInt32) { self.session?.stream(id)?.resetSent(code) }

    func streamOutputEnds(_ id: Int32) { self.session?.stream(id)?.outputEnded() }

    func takeContent(of id: Int32, into room: UnsafeMutableRawBufferPointer) -> (count: Int, end: HTTP2Stream.End?)? {
        self.session?.stream(id)?.takeContent(into: room)
    }

    func streamCloses(_ id: Int32) {
        guard let session = self.session else { return }
        if self.fieldsStream == id { self.fieldsSince = nil }
        guard let stream = session.stream(id) else {
            // It was refused, which is the client's fault unless it could not know yet.
            if !self.isLeft { _ = self.spend(self.budget.streamWasReset(now: self.loop.now)) }
            return
        }
        if !stream.isComplete { _ = self.spend(self.budget.streamWasReset(now: self.loop.now)) }
        session.detach(id)
        self.release(stream)
    }

    private func release(_ stream: HTTP2Stream) {
        if self.headStream === stream { self.headStream = nil }
        let last = self.streams.removeLast()
        if last !== stream {
            self.streams[stream.listIndex] = last
            last.listIndex = stream.listIndex
        }
        stream.listIndex = -1
        stream.close()
        if self.streams.isEmpty { self.idleSince = self.loop.now }
        if stream.exchange.callCount > 0 { self.abandoned.append(stream) } else { self.spares.keep(stream) }
    }

    private func forgetEnded() {
        guard !self.abandoned.isEmpty else { return }
        self.abandoned.removeAll { stream in
            if stream.exchange.callCount > 0 { return false }
            self.spares.keep(stream)
            return true
        }
    }

    // MARK: What streams ask for

    func streamStalled(_ now: NIODeadline) {
        if let excess = self.budget.streamStalled(now: now) { self.end(excess) }
    }

    func signedIn() {
        self.sessionNotes.note(self.place, now: self.loop.now)
    }

    /// Passes the body of a stream on when everything that has come is read.
    private func pass(_ stream: HTTP2Stream) {
        guard !stream.isFresh else { return }
        stream.isFresh = true
        self.fresh.append(stream)
    }

    /// The same at the end of the turn.
    func passSoon(_ stream: HTTP2Stream) {
        self.pass(stream)
        self.sendSoon()
    }

    private func passBodies() {
        guard !self.fresh.isEmpty else { return }
        let streams = self.fresh
        self.fresh.removeAll(keepingCapacity: true)
        for stream in streams {
            stream.isFresh = false
            if stream.listIndex >= 0 { stream.passBody() }
        }
    }

    // MARK: The end

    /// Records what was exceeded. False: nothing more is read.
    private func spend(_ excess: HTTP2Excess?) -> Bool {
        guard let excess else { return self.excess == nil }
        if self.excess == nil { self.excess = excess }
        return false
    }

    /// Closes a connection whose client wants too much. It has a moment to learn why, and nothing of it is read.
    private func end(_ excess: HTTP2Excess) {
        guard !self.isEnding else { return }
        self.count(excess)
        self.session?.end(excess == .protocolError ? .protocolError : .enhanceYourCalm)
        self.sendOutput()
        self.stream.pause()
        self.linger(isPatient: false)
    }

    private func count(_ excess: HTTP2Excess) {
        guard !self.isCounted else { return }
        self.isCounted = true
        self.loop.metrics.http2Closed(excess)
    }

    /// Called when the client was told of a fault that the library found.
    func faultSent() { self.count(.protocolError) }

    /// Begins to end the connection without a loss: requests that are on their way are served.
    private func leave(_ now: NIODeadline) {
        guard case .open = self.phase else { return }
        self.phase = .leaving(until: now + Self.noticeTime)
        self.session?.announceEnd()
        self.sendSoon()
    }

    /// Serves no more streams than those that have come.
    private func acceptNoMore() {
        self.phase = .left
        self.session?.acceptNoMore()
        self.sendSoon()
    }

    /// Whether nothing more is read.
    private var isEnding: Bool {
        switch self.phase {
        case .lingering, .closed: true
        case .open, .leaving, .left: false
        }
    }

    private var isLeft: Bool { if case .left = self.phase { true } else { false } }

    /// Ends all streams.
    private func dropStreams() {
        while let stream = self.streams.last {
            self.session?.detach(stream.id)
            self.release(stream)
        }
    }

    /// Sends the end of the stream; the client has a moment to read what it was sent.
    private func linger(isPatient: Bool = true) {
        guard !self.isEnding else { return }
        self.phase = .lingering(until: self.loop.now + HTTP1State.lingerTime, isPatient: isPatient)
        self.outputWatch = OutputWatch()
        self.dropStreams()
        self.stream.endOutput()
    }
}

// MARK: Sending

extension HTTP2Connection: TurnEndSender {
    /// Sends what is queued at the end of this turn.
    func sendSoon() {
        guard !self.isSendDue else { return }
        self.isSendDue = true
        self.loop.flushSoon(self)
    }

    package func send() {
        self.isSendDue = false
        guard !self.isEnding else { return }
        self.passBodies()
        self.sendOutput()
        guard !self.isEnding, let session = self.session else { return }
        if self.hasRelieved {
            // Without room only those go on that have nothing left: others wait until there is some.
            self.hasRelieved = !self.hasRoom
            for stream in self.streams { stream.relieve() }
        }
        let hasLeft = self.isLeft && !session.hasOutput || self.inputHasEnded
        if session.isOver || hasLeft && self.streams.isEmpty {
            // What follows a fault is not worth reading.
            if self.isCounted { self.stream.pause() }
            self.linger(isPatient: !self.isCounted)
        }
    }

    /// Sends the session's frames, as far as the socket takes them.
    private func sendOutput() {
        guard let session = self.session else { return }
        var output = self.scratch.takeOutput()
        while !self.isEnding, self.stream.isWritable {
            while output.readableBytes < HTTP2Scratch.writeSize, let bytes = session.nextOutput() {
                output.writeBytes(bytes)
            }
            guard output.readableBytes > 0 else { break }
            self.stream.writeAndFlush(output)
            output.clear()
        }
        self.scratch.giveBack(output)
        if let excess = self.excess, !self.isEnding {
            self.excess = nil
            self.end(excess)
        }
    }
}

// MARK: The client's bytes

extension HTTP2Connection: ClientConnection {
    package func start() {
        self.session = HTTP2Session(for: self, self.configuration.limits)
        self.read(from: self.stream)
        self.sendSoon()
    }

    package func received(_ buffer: inout ByteBuffer) {
        guard !self.isEnding, let session = self.session else { return buffer.clear() }
        var goesOn = self.spend(self.budget.bytesCame(buffer.readableBytes))
        if goesOn { goesOn = buffer.withUnsafeReadableBytes { session.receive($0) } }
        buffer.moveReaderIndex(to: buffer.writerIndex)
        if session.queueCount > HTTP2Budget.mostQueued { _ = self.spend(.queue) }
        if !goesOn { _ = self.spend(.protocolError) }
        if let excess = self.excess {
            self.excess = nil
            return self.end(excess)
        }
        self.passBodies()
        self.sendSoon()
    }

    package func inputEnded() -> Bool {
        self.inputHasEnded = true
        guard !self.isEnding else { return false }
        // Answers to whole requests are still sent.
        for stream in self.streams where !stream.exchange.clientEnded() { stream.abort() }
        return self.streams.contains { !$0.isReset }
    }

    package func becameWritable() {
        self.sendSoon()
    }

    package func closed(isClean: Bool) {
        self.place.giveBack()
        self.loop.remove(self)
        self.phase = .closed
        self.dropStreams()
        self.session = nil
        self.fresh = []
        self.abandoned = []
        self.spares.shrink(to: 0)
    }
}

// MARK: The loop's connection

extension HTTP2Connection: LoopConnection {
    package var quietSince: NIODeadline? {
        if case .closed = self.phase { return nil }
        return self.streams.isEmpty ? self.idleSince : nil
    }

    package var unsentBytes: Int { self.stream.unsentBytes + self.queuedBytes }

    package var isBusy: Bool {
        switch self.phase {
        // Before the gateway stops, the client is told, and requests may be on their way.
        case .open: self.loop.isDraining || !self.streams.isEmpty || self.awaitsFirstRequest
        case .leaving, .left, .lingering: true
        case .closed: false
        }
    }

    private var awaitsFirstRequest: Bool {
        self.requestCount == 0 && self.loop.now - self.acceptedAt < HTTP1State.firstRequestGrace
    }

    package func eachRequest(_ body: (any LoopRequest) -> Void) { self.streams.forEach { body($0.exchange) } }

    package func sweep(_ now: NIODeadline) {
        switch self.phase {
        case .open:
            // A new handshake would fail; streams end by themselves where they are judged by the certificate.
            let hasExpired = self.facts?.hasExpired(at: self.loop.wallNow) == true
            if self.loop.isDraining || self.loop.closesIdle || hasExpired { self.leave(now) }
        case .leaving(let end):
            if now >= end { self.acceptNoMore() }
        case .left: break
        case .lingering(let end, let isPatient):
            if now >= end, !isPatient || self.hasTakenAll(now) { self.stream.close() }
            return
        case .closed: return
        }
        if let since = self.fieldsSince, now - since > HTTP2Budget.blockTime { return self.end(.fieldBlock) }
        for stream in self.streams.reversed() where stream.listIndex >= 0 { stream.sweep(now) }
        self.forgetEnded()
        self.sweepConnection(now)
    }

    /// Whether nothing is left to send, or the client takes none of it.
    private func hasTakenAll(_ now: NIODeadline) -> Bool {
        let waiting = self.stream.unacknowledgedBytes
        return waiting == 0 || self.outputWatch.isStuck(waiting, now: now, limit: self.configuration.timeouts.write)
    }

    private func sweepConnection(_ now: NIODeadline) {
        guard !self.isEnding else { return }
        let timeouts = self.configuration.timeouts
        if self.stream.unsentBytes > 0 {
            let waiting = self.stream.unacknowledgedBytes
            if self.outputWatch.isStuck(waiting, now: now, limit: timeouts.write) { return self.stream.reset() }
        } else {
            self.outputWatch = OutputWatch()
        }
        guard self.streams.isEmpty else { return }
        if !self.hasBegun, now >= self.acceptedAt + timeouts.header { return self.stream.close() }
        if self.isLeft { return self.sendSoon() }
        if now >= self.idleSince + timeouts.idle {
            self.session?.end(.none)
            return self.sendSoon()
        }
        // One is kept for a client that asks again soon. Most connections are idle for minutes, and it has some kilobytes.
        self.spares.shrink(to: now >= self.idleSince + .seconds(5) ? 0 : 1)
    }

    package func closeNow() {
        if case .closed = self.phase { return }
        if !self.isEnding {
            for stream in self.streams.reversed() where stream.listIndex >= 0 { _ = stream.exchange.breakOff() }
            self.session?.end(.none)
            self.sendOutput()
        }
        self.stream.close()
    }
}
