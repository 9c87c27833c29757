package import NIOCore
import Settings
package import Transport
import Vocabulary

/// A client's HTTP/2 connection, with a session for the frames and a stream for each request. The output of a loop's
/// turn is sent at the end of the turn.
///
/// ```
///   open ─▶ leaving ─▶ left ─▶ lingering ─▶ closed
///             │          └ new streams are refused; the connection ends with the last stream
///             └ the client is asked to open no more streams; those that it has sent already are served
/// ```
/// From every state, a connection may go straight to `lingering` or `closed`. Everything here runs on the connection's
/// loop.
package final class HTTP2Connection {
    enum Phase {
        case open
        case leaving(until: NIODeadline)
        case left
        /// `isPatient`: True if a client that still reads may take longer than `until`.
        case lingering(until: NIODeadline, isPatient: Bool)
        case closed
    }

    /// The first bytes that a client sends (RFC 9113 3.4).
    package static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// The number of queued answer bytes at which apps are no longer read.
    static let highMark = 1 << 20
    /// The time between announcing the end of the connection and refusing new streams (RFC 9113 6.8).
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
    /// True once a fault of the client that ends the connection has been counted.
    private var isCounted = false
    private var head: HTTP2RequestHead
    /// The stream whose head is being received. `fieldsSince` is when the head or trailers began.
    private var headStream: HTTP2Stream?
    private var fieldsSince: NIODeadline?
    private var fieldsStream: Int32 = 0
    private var streams: [HTTP2Stream] = []
    /// Closed streams whose endpoint calls are still running.
    private var abandoned: [HTTP2Stream] = []
    /// Stream objects for reuse.
    private var spares = Spares<HTTP2Stream>(limit: 100)
    /// Streams whose bodies are due to be passed on.
    private var fresh: [HTTP2Stream] = []
    private var requestCount = 0
    private var isSendDue = false
    /// True once the client has sent SETTINGS, its required first frame.
    private var hasBegun = false
    private var inputHasEnded = false
    /// When the last stream closed.
    private var idleSince: NIODeadline
    private let acceptedAt: NIODeadline
    private var outputWatch = OutputWatch()
    private var sessionNotes = SessionNotes()
    /// The number of queued answer bytes that `session` has not taken.
    var queuedBytes = 0
    /// The number of streams with a wide window.
    var wideCount = 0
    /// True if blocked streams are to be tried again.
    var hasRelieved = false
    package var listIndex = -1

    /// - Parameters:
    ///   - stream: The stream to the client. Not started yet.
    ///   - place: The client's place at the gate. Given back when the connection closes.
    ///   - acceptedAt: When the client was accepted.
    ///   - isSecure: True if the stream uses TLS.
    ///   - facts: What is known about the client from the opening of its connection. `nil` if nothing.
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

    /// Returns the connection of a session.
    @inline(__always)
    static func of(_ owner: UnsafeMutableRawPointer?) -> HTTP2Connection {
        guard let owner else { preconditionFailure("a session has no connection") }
        return Unmanaged<HTTP2Connection>.fromOpaque(owner).takeUnretainedValue()
    }

    // MARK: Callbacks of the session

    /// Counts a frame. Returns false if the session must stop reading.
    func frameBegins(_ type: UInt8) -> Bool {
        let type = HTTP2FrameType(rawValue: type)
        if type == .settings { self.hasBegun = true }
        return self.spend(self.budget.frame(type, now: self.loop.now))
    }

    /// Begins the head or the trailers of a stream. Returns false if the stream is refused.
    func fieldsBegin(of id: Int32, ofRequest isRequest: Bool) -> Bool {
        self.fieldsSince = self.loop.now
        self.fieldsStream = id
        self.headStream = nil
        guard isRequest else { return true }
        self.forgetEnded()
        // Requests use the current settings even on an old connection.
        if self.configuration !== self.loop.configuration {
            self.configuration = self.loop.configuration
            self.head = HTTP2RequestHead(limits: self.configuration.requestParser.limits)
        }
        // A reset stream keeps its place until its endpoint call has ended (CVE-2023-44487). A client retries requests
        // that arrive after the last GOAWAY (RFC 9113 6.8).
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

    /// Adds a field of a head or of trailers. Returns false if the stream has been reset.
    @inline(__always)
    func fieldComes(of id: Int32, _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        self.budget.fieldCame(name.count &+ value.count)
        guard self.headStream?.id == id else { return self.trailerComes(of: id, name, value) }
        self.head.append(name, value)
        guard self.head.isFarTooLarge else { return true }
        self.session?.reset(id, .enhanceYourCalm)
        return false
    }

    /// Resets a stream with a field that libnghttp2 rejects.
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

    /// Writes the head as HTTP/1 and begins the exchange. If the request declares no content, the exchange first waits
    /// for the end of the stream. Content would make the request malformed (RFC 9113 8.1.1).
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

    /// Parses the head and begins the exchange with the loop's current settings.
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

    /// Counts an empty DATA frame. Returns false if the session must stop reading.
    func emptyDataCome() -> Bool { self.spend(self.budget.emptyDataCame()) }

    func streamInputEnds(_ id: Int32) {
        guard let stream = self.session?.stream(id) else { return }
        if var buffer = stream.takeHead() { return self.beginExchange(stream, &buffer, endsStream: true) }
        stream.inputEnds()
        self.pass(stream)
    }

    func dataSent(_ count: Int) { self.budget.dataSent(count) }

    func fieldsSent() { self.budget.fieldsSent() }

    /// Called when a reset has been sent, just before the stream closes.
    func resetSent(on id: Int32, _ code: UInt32) { self.session?.stream(id)?.resetSent(code) }

    func streamOutputEnds(_ id: Int32) { self.session?.stream(id)?.outputEnded() }

    func takeContent(of id: Int32, into room: UnsafeMutableRawBufferPointer) -> (count: Int, end: HTTP2Stream.End?)? {
        self.session?.stream(id)?.takeContent(into: room)
    }

    func streamCloses(_ id: Int32) {
        guard let session = self.session else { return }
        if self.fieldsStream == id { self.fieldsSince = nil }
        guard let stream = session.stream(id) else {
            // The stream was refused. That is the client's fault unless a GOAWAY was on its way.
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

    // MARK: Requests of streams

    func streamStalled(_ now: NIODeadline) {
        if let excess = self.budget.streamStalled(now: now) { self.end(excess) }
    }

    func signedIn() {
        self.sessionNotes.note(self.place, now: self.loop.now)
    }

    /// Schedules a stream's body to be passed on after all received bytes are read.
    private func pass(_ stream: HTTP2Stream) {
        guard !stream.isFresh else { return }
        stream.isFresh = true
        self.fresh.append(stream)
    }

    /// Schedules a stream's body to be passed on at the end of the turn.
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

    /// Records an exceeded limit. Returns false if a limit has been exceeded and the session must stop reading.
    private func spend(_ excess: HTTP2Excess?) -> Bool {
        guard let excess else { return self.excess == nil }
        if self.excess == nil { self.excess = excess }
        return false
    }

    /// Ends the connection of a client that has exceeded a limit or broken the protocol, after a moment to read the
    /// error.
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

    /// Called when a GOAWAY has been sent for a fault that libnghttp2 has found.
    func faultSent() { self.count(.protocolError) }

    /// Begins to end the connection. Requests on their way are still served.
    private func leave(_ now: NIODeadline) {
        guard case .open = self.phase else { return }
        self.phase = .leaving(until: now + Self.noticeTime)
        self.session?.announceEnd()
        self.sendSoon()
    }

    /// Refuses all streams that have not arrived yet.
    private func acceptNoMore() {
        self.phase = .left
        self.session?.acceptNoMore()
        self.sendSoon()
    }

    /// True if the connection reads no more.
    private var isEnding: Bool {
        switch self.phase {
        case .lingering, .closed: true
        case .open, .leaving, .left: false
        }
    }

    private var isLeft: Bool { if case .left = self.phase { true } else { false } }

    private func dropStreams() {
        while let stream = self.streams.last {
            self.session?.detach(stream.id)
            self.release(stream)
        }
    }

    /// Ends the output but leaves the client a moment to read it.
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
    /// Sends all queued frames at the end of this turn.
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
            // While the queue is full, some streams stay blocked. They are tried again at the next send.
            self.hasRelieved = !self.hasRoom
            for stream in self.streams { stream.relieve() }
        }
        let hasLeft = self.isLeft && !session.hasOutput || self.inputHasEnded
        if session.isOver || hasLeft && self.streams.isEmpty {
            // Nothing more is read after a fault of the client.
            if self.isCounted { self.stream.pause() }
            self.linger(isPatient: !self.isCounted)
        }
    }

    /// Sends the queued frames as far as the socket accepts them.
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
        if session.queueCount > HTTP2Budget.maxQueued { _ = self.spend(.queue) }
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
        // Complete requests still get their answers.
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
        // While the gateway drains, the client must first be notified. Its requests may still be on their way.
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
            // Ends the connection when the client's certificate has expired.
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

    /// True if the client has acknowledged everything or has stopped reading.
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
        // Keeps one stream object for the next request, for at most 5 seconds.
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
