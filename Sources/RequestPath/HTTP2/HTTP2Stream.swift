import Cryptography
import Endpoints
package import NIOCore
import Settings
import Transport
import Vocabulary

/// A request and its answer on an HTTP/2 connection. Objects are reused for later streams.
package final class HTTP2Stream {
    /// The number of queued bytes at which the app is no longer read. Reading continues below `lowMark`.
    static let highMark = 65_536
    static let lowMark = 32_768

    /// How an answer ends.
    enum End {
        /// After its content.
        case content
        /// After its content and trailers.
        case trailers
    }

    unowned let connection: HTTP2Connection
    let exchange: Exchange
    private(set) var id: Int32 = 0
    /// The index in the connection's list.
    var listIndex = -1
    /// The head of a request that waits for the end of its stream, and when the wait began. `nil` if no head waits.
    private var keptHead: (bytes: ByteBuffer, since: NIODeadline)?
    /// Bytes of the body that the exchange has not accepted yet. They count against the stream's window.
    private var input = ByteBuffer()
    /// The number of body bytes that the exchange has accepted, until the window is wide.
    private var takenBytes = 0
    /// True if the stream has a wide window.
    private var isWide = false
    /// The request's trailers. `nil` if none have arrived.
    private var section: TrailerSection?
    /// True if the client has ended its side.
    private(set) var inputHasEnded = false
    /// True if the exchange has the whole request body or needs no more of it.
    private var isBodyDone = true
    /// The number of body bytes still to come. `nil` if the length is unknown.
    private var missingBytes: Int?
    private var isPaused = false
    /// True if the body is due to be passed on after all received bytes are read.
    var isFresh = false
    private var awaitsContinue = false
    private var isTunnel = false
    /// The app's expected `Sec-WebSocket-Accept`. `nil` if the request does not open a WebSocket.
    private var webSocketAccept: [UInt8]?
    /// The answer's head until libnghttp2 has it.
    private var answerHead: ByteBuffer?
    /// Content of the answer that libnghttp2 has not taken.
    private var output = ByteBuffer()
    /// The answer's trailers. `nil` if there are none.
    private var trailers: Trailers?
    private var outputWatch = OutputWatch()
    /// True if the answer ends after `output`.
    private var outputHasEnded = false
    /// True while libnghttp2 waits to be told about new content.
    private var isDeferred = false
    /// True while the exchange waits for the client to read.
    private var isBlocked = false
    /// True if the whole answer has been sent.
    private var isAnswered = false
    /// When the client of an answered request must have ended the stream. `nil` if there is no deadline.
    private var graceEnd: NIODeadline?
    /// True if the stream is being reset.
    private(set) var isReset = false
    /// True if the gateway ends the stream without a fault of the client.
    private(set) var endsByItself = false

    init(on connection: HTTP2Connection) {
        self.connection = connection
        self.exchange = Exchange(loop: connection.loop, peer: connection.place.client, client: connection.facts)
    }

    // MARK: The request

    /// Begins to serve the stream with this number.
    func open(_ id: Int32) {
        self.id = id
        // A stream uses only a few exchange numbers, so the ranges of a connection's streams do not overlap.
        self.exchange.exchangeNumber = UInt64(id) << 8
        self.exchange.attach(self)
    }

    /// Returns the gateway's key for opening a WebSocket at the app (RFC 6455 4.1).
    func makeWebSocketKey() -> [UInt8] {
        let key = Base64.encoded(Random.bytes(16))
        self.webSocketAccept = Base64.encoded(SHA1.digest(key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
        return key
    }

    /// Keeps the head of a request that declares no content until its stream ends.
    func keep(_ head: ByteBuffer, now: NIODeadline) {
        self.keptHead = (ByteBuffer(bytes: head.readableBytesView), now)
    }

    /// Removes and returns the kept head. `nil` if there is none.
    func takeHead() -> ByteBuffer? { self.keptHead.take()?.bytes }

    /// Begins the exchange.
    ///
    /// - Parameters:
    ///   - head: The loop's head, parsed from `buffer`.
    ///   - endsStream: True if the client's side ends with the head.
    func begin(_ head: RequestHead, _ buffer: inout ByteBuffer, endsStream: Bool, by configuration: PathConfiguration) {
        self.inputHasEnded = endsStream
        if !endsStream, !head.isWebSocketUpgrade, head.line(.contentLength) == nil { head.framing = .byStream }
        self.isBodyDone = head.framing.isEmpty
        switch head.framing {
        case .length(let count): self.missingBytes = count
        case .none, .chunked, .untilClose, .byStream: break
        }
        self.awaitsContinue = head.expectsContinue
        self.exchange.begin(head, &buffer, by: configuration)
    }

    /// Answers a request that cannot be judged.
    func refuse(_ reason: Reason, _ bytes: ByteBuffer, endsStream: Bool, by configuration: PathConfiguration) {
        self.inputHasEnded = endsStream
        self.exchange.refuse(reason, bytes, by: configuration)
    }

    /// Keeps bytes of the body if they may still be needed.
    func dataCame(_ bytes: UnsafeRawBufferPointer) {
        guard !self.isReset, !self.outputHasEnded, !self.isBodyDone || self.isTunnel || self.webSocketAccept != nil
        else {
            // Drops the bytes but keeps the window open: many clients read the answer only after sending the request.
            return self.connection.consume(bytes.count, of: self.id)
        }
        self.awaitsContinue = false
        self.missingBytes = self.missingBytes.map { $0 - bytes.count }
        self.input.writeBytes(bytes)
    }

    /// Keeps a trailer field. Returns false if the trailers are far too large.
    func trailerCame(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        // The trailers are needed only while the exchange reads the body.
        guard !self.isReset, !self.outputHasEnded, !self.isBodyDone, !self.isTunnel else { return true }
        let section = self.section ?? self.connection.configuration.trailerRules.sectionOfRequest
        section.append(name, value, overhead: HTTP2RequestHead.fieldOverhead)
        self.section = section
        return !section.isFarTooLarge
    }

    func inputEnds() {
        self.inputHasEnded = true
    }

    package func passBody() {
        guard !self.isReset else { return }
        if self.isTunnel { return self.passTunnel() }
        // The last part of a body of known length waits for the end of the stream. If more content followed, the
        // request would be malformed and the app must not take it for complete (RFC 9113 8.1.1).
        guard !self.isBodyDone, !self.isPaused,
            self.inputHasEnded || self.input.readableBytes > 0 && self.missingBytes != 0
        else { return }
        self.exchange.bodyArrives()
        guard self.exchange.bodyDemand == .now else { return }
        self.takeInput { self.exchange.takeBody($0.readableBytes, of: &$0) }
        self.isBodyDone = self.inputHasEnded
        guard self.isBodyDone, let section = self.section else {
            return self.exchange.bodyCame(self.isBodyDone ? .end : .more)
        }
        self.section = nil
        self.exchange.bodyEnded(with: section)
    }

    private func passTunnel() {
        guard !self.isPaused else { return }
        self.takeInput { self.exchange.tunnelToUpstream($0) }
        guard self.inputHasEnded, !self.isBodyDone else { return }
        self.isBodyDone = true
        _ = self.exchange.clientEnded()
    }

    /// Passes the received bytes to `body` and opens the window again.
    private func takeInput(_ body: (inout ByteBuffer) -> Void) {
        let count = self.input.readableBytes
        guard count > 0 else { return }
        var content = ByteBuffer()
        swap(&content, &self.input)
        body(&content)
        self.connection.consume(count, of: self.id)
        guard !self.isWide else { return }
        self.takenBytes &+= count
        if self.takenBytes >= HTTP2Session.streamWindow { self.isWide = self.connection.widen(self) }
    }

    // MARK: The answer

    /// Copies the content of a frame into `room`. Returns `nil` if there is no content yet.
    func takeContent(into room: UnsafeMutableRawBufferPointer) -> (count: Int, end: End?)? {
        let count = min(room.count, self.output.readableBytes)
        guard count > 0 || self.outputHasEnded else {
            self.isDeferred = true
            return nil
        }
        self.output.readWithUnsafeReadableBytes { bytes in
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            return count
        }
        self.connection.queuedBytes -= count
        if self.output.readableBytes == 0 { self.output.clear() }
        if self.isBlocked, self.output.readableBytes < Self.lowMark { self.connection.hasRelieved = true }
        guard self.outputHasEnded, self.output.readableBytes == 0 else { return (count, nil) }
        return (count, self.trailers == nil ? .content : .trailers)
    }

    /// Removes and returns the answer's trailers. `nil` if there are none.
    func takeTrailers() -> Trailers? { self.trailers.take() }

    /// Continues an exchange that has waited for the client to read.
    func relieve() {
        guard self.isBlocked, self.output.readableBytes < Self.lowMark, self.hasRoom else { return }
        self.isBlocked = false
        self.exchange.clientTakesBytes()
    }

    /// Called when the end of the answer has been sent.
    func outputEnded() {
        self.isAnswered = true
        self.exchange.answerSent()
        guard !self.inputHasEnded else { return }
        // The rest of the request is not needed (RFC 9113 8.1). Some clients lose an answer if RST_STREAM follows at
        // once (curl 7.88), so the client gets a moment to end the stream.
        self.endsByItself = true
        self.graceEnd = self.connection.loop.now + HTTP1State.lingerTime
    }

    /// Called when a reset has been sent. Records the request if the reset is the client's fault.
    func resetSent(_ code: UInt32) {
        guard !self.isReset, !self.endsByItself else { return }
        self.isReset = true
        let isTooLarge = code == HTTP2Session.Code.enhanceYourCalm.rawValue
        self.exchange.fail(
            head: isTooLarge ? .requestFieldsTooLarge : self.keptHead == nil ? .requestMalformed : .requestFraming,
            body: .requestFraming,
            by: self.connection.configuration
        )
    }

    /// True if the stream has ended without a fault of the client.
    var isComplete: Bool { self.endsByItself || self.inputHasEnded && self.isAnswered }

    /// Called when the stream has closed. An endpoint call may still be running.
    func close() {
        self.exchange.clientLeft()
        self.exchange.detach()
        self.connection.queuedBytes -= self.output.readableBytes
        self.connection.consume(self.input.readableBytes)
        if self.isWide { self.connection.wideCount -= 1 }
        self.isWide = false
        self.takenBytes = 0
        self.id = 0
        self.keptHead = nil
        Self.empty(&self.input)
        Self.empty(&self.output)
        if let head = self.answerHead.take() { self.connection.loop.giveBack(head) }
        self.section = nil
        self.trailers = nil
        self.inputHasEnded = false
        self.isBodyDone = true
        self.missingBytes = nil
        self.isPaused = false
        self.awaitsContinue = false
        self.isTunnel = false
        self.webSocketAccept = nil
        self.outputWatch = OutputWatch()
        self.outputHasEnded = false
        self.isDeferred = false
        self.isBlocked = false
        self.isAnswered = false
        self.graceEnd = nil
        self.isReset = false
        self.endsByItself = false
    }

    /// Empties a buffer. Keeps its memory if it has the usual size.
    private static func empty(_ buffer: inout ByteBuffer) {
        if buffer.capacity > 16_384 { buffer = ByteBuffer() } else { buffer.clear() }
    }

    // MARK: Deadlines

    /// Checks the deadlines of the stream and its exchange.
    func sweep(_ now: NIODeadline) {
        if let (bytes, since) = self.keptHead {
            let configuration = self.connection.configuration
            guard now - since > configuration.timeouts.header else { return }
            self.keptHead = nil
            return self.refuse(.requestTimeout, bytes, endsStream: false, by: configuration)
        }
        if let end = self.graceEnd {
            if now >= end { self.abort() }
            return
        }
        let write = self.connection.configuration.timeouts.write
        let waiting = self.output.readableBytes
        if waiting > 0, self.outputWatch.isStuck(waiting, now: now, limit: write) {
            self.exchange.abort(.requestTimeout)
            self.connection.streamStalled(now)
        } else {
            if waiting == 0 { self.outputWatch = OutputWatch() }
            self.exchange.sweep(now)
        }
    }
}

// MARK: The client's side of the exchange

extension HTTP2Stream: ClientStream {
    package var version: StaticString { "HTTP/2" }

    package var opensBySuccess: Bool { self.webSocketAccept != nil }

    package var isWritable: Bool {
        self.output.readableBytes < Self.highMark && self.hasRoom
    }

    /// True if the stream may queue bytes. Streams without queued bytes always may, so that a stream that is not read
    /// blocks no other.
    private var hasRoom: Bool { self.connection.hasRoom || self.output.readableBytes == 0 }

    /// The number of queued bytes. If there are none, the connection's number of unacknowledged bytes.
    package var unacknowledgedBytes: Int {
        let waiting = self.output.readableBytes
        return waiting > 0 ? waiting : self.connection.stream.unacknowledgedBytes
    }

    package var waitingBytes: Int { self.output.readableBytes }

    package func askForBody() {
        guard self.awaitsContinue else { return }
        self.awaitsContinue = false
        self.announce { $0.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    package func pauseReading() {
        self.isPaused = true
    }

    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        self.connection.passSoon(self)
    }

    package func announce(_ head: AnswerHead, _ changes: borrowing AnswerChanges) {
        head.use { head, base, origin, publicOrigin in
            self.announce {
                self.exchange.configuration.responseWriter.writeInterim(
                    head,
                    base,
                    changes,
                    origin: origin,
                    publicOrigin: publicOrigin,
                    into: &$0
                )
            }
        }
    }

    private func announce(_ body: (inout ByteBuffer) -> Void) {
        guard !self.isReset else { return }
        var buffer = self.connection.loop.takeBuffer()
        body(&buffer)
        self.connection.announce(buffer, on: self)
        self.connection.loop.giveBack(buffer)
    }

    package func begin(_ head: AnswerHead, _ changes: borrowing AnswerChanges) {
        var isAccepted = true
        head.use { head, base, origin, publicOrigin in
            isAccepted = head.status != 101 || self.accepts(head, base)
            self.writeHead {
                self.exchange.configuration.responseWriter.write(
                    head,
                    base,
                    changes,
                    origin: origin,
                    publicOrigin: publicOrigin,
                    framing: .asIs,
                    connection: .none,
                    date: self.connection.loop.date,
                    into: &$0
                )
            }
        }
        // The browser cannot check the app's answer to the gateway's key (RFC 8441 5).
        if !isAccepted { self.exchange.abort(.upstreamMalformed) }
    }

    private func accepts(_ head: ResponseHead, _ base: Bytes) -> Bool {
        var isAccepted = false
        for index in 0..<head.fields.count {
            let line = head.fields[index]
            guard ByteClass.equal(line.name.bytes(in: base), "sec-websocket-accept") else { continue }
            // Repeated fields are invalid.
            guard !isAccepted, self.webSocketAccept?.elementsEqual(line.value.bytes(in: base)) ?? false else {
                return false
            }
            isAccepted = true
        }
        return isAccepted
    }

    package func answer(_ head: LocalAnswerHead, hasContent: Bool) {
        let date = self.connection.loop.date
        self.writeHead { LocalAnswerWriter.write(head, date: date, connection: .none, into: &$0) }
        if hasContent {
            var content = ByteBuffer(bytes: head.answer.response.body)
            self.write(content.readableBytes, of: &content)
        }
        self.complete()
    }

    /// Stores the head until it is known whether content follows.
    private func writeHead(_ body: (inout ByteBuffer) -> Void) {
        var buffer = self.connection.loop.takeBuffer()
        body(&buffer)
        self.answerHead = buffer
    }

    package func write(_ count: Int, of content: inout ByteBuffer) {
        guard !self.isReset else { return content.moveReaderIndex(forwardBy: count) }
        content.readWithUnsafeReadableBytes { bytes in
            _ = self.output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            return count
        }
        self.connection.queuedBytes += count
        if !self.isWritable { self.isBlocked = true }
    }

    package func flush() {
        guard !self.isReset else { return }
        if let head = self.answerHead.take() {
            let hasContent = !self.outputHasEnded || self.output.readableBytes > 0 || self.trailers != nil
            self.connection.answer(head, on: self, hasContent: hasContent)
            self.connection.loop.giveBack(head)
        } else if self.isDeferred {
            self.isDeferred = false
            self.connection.resume(self)
        }
    }

    package func complete() {
        self.outputHasEnded = true
        self.flush()
    }

    package func complete(with trailers: Trailers) {
        self.trailers = trailers
        self.complete()
    }

    package func abort() {
        guard !self.isReset else { return }
        self.isReset = true
        self.endsByItself = true
        self.connection.queuedBytes -= self.output.readableBytes
        Self.empty(&self.output)
        self.connection.reset(self, self.isAnswered ? .none : .internalError)
    }

    package func signedIn() {
        self.connection.signedIn()
    }

    package func beginTunnel() {
        self.isTunnel = true
        self.isBodyDone = false
        self.isPaused = false
        self.passTunnel()
    }

    package func tunnel(_ bytes: ByteBuffer) {
        var bytes = bytes
        self.write(bytes.readableBytes, of: &bytes)
        self.flush()
    }
}
