import Endpoints
import NIOCore
import RequestPath
import Sessions
import Settings
import Vocabulary

/// A client of HTTP/1 that records the bytes that it is sent, and hands over a body when the exchange asks for it.
final class ScriptedClient: ClientStream {
    enum End: Equatable {
        case next, body, close, aborted
    }

    private static let writer = ResponseWriter(sessionCookies: [], handoffCookies: [])
    private static let drainLimit = 65_536

    var exchange: Exchange?
    let version: StaticString = "HTTP/1.1"
    let opensBySuccess = false
    var isWritable = true
    var unacknowledgedBytes = 0
    /// The request, and its received bytes after its head.
    var message = HTTP1Message()
    var body = BodyDecoder(.none)
    var input = ByteBuffer()
    /// The trailer section of the request. `nil` if none has come.
    private var section: TrailerSection?
    private var queued = ByteBuffer()
    private(set) var sent = ""
    private(set) var ends: [End] = []
    private(set) var isPaused = false
    private(set) var isTunnel = false
    private(set) var isAsked = false
    private(set) var sessions = 0

    /// Everything that was written, also if it is no text.
    private(set) var sentBytes: [UInt8] = []

    func askForBody() { self.isAsked = true }
    func pauseReading() { self.isPaused = true }
    func resumeReading() { self.isPaused = false }
    func signedIn() { self.sessions += 1 }

    func passBody() {
        guard let exchange = self.exchange else { return }
        if self.input.readableBytes > 0 { exchange.bodyArrives() }
        while self.input.readableBytes > 0, !self.body.isDone, exchange.bodyDemand == .now {
            let progress = self.body.decode(
                &self.input,
                { exchange.takeBody($0, of: &$1) },
                trailers: { self.takeTrailers($0, of: &$1) }
            )
            if progress == .end, let section = self.section.take() {
                exchange.bodyEnded(with: section)
            } else {
                exchange.bodyCame(progress)
            }
        }
    }

    private func takeTrailers(_ count: Int, of content: inout ByteBuffer) {
        let section = self.section ?? TrailerSection(limit: 1024)
        section.take(count, of: &content)
        self.section = section
    }

    func announce(_ head: AnswerHead, _ changes: borrowing AnswerChanges) {
        guard self.message.minorVersion == 1 else { return }
        head.use { head, base, origin, publicOrigin in
            Self.writer.writeInterim(
                head,
                base,
                changes,
                origin: origin,
                publicOrigin: publicOrigin,
                into: &self.queued
            )
        }
        self.flush()
    }

    func begin(_ head: AnswerHead, _ changes: borrowing AnswerChanges) {
        head.use { head, base, origin, publicOrigin in
            self.message.begin(head.framing, isRequestWhole: self.body.isDone, isDraining: false)
            Self.writer.write(
                head,
                base,
                changes,
                origin: origin,
                publicOrigin: publicOrigin,
                framing: self.message.framing,
                connection: self.message.connection,
                date: Array("now".utf8),
                into: &self.queued
            )
        }
    }

    func answer(_ head: LocalAnswerHead, hasContent: Bool) {
        self.message.beginOwn(closes: head.answer.closes || self.body.misses(moreThan: Self.drainLimit))
        LocalAnswerWriter.write(head, date: Array("now".utf8), connection: self.message.connection, into: &self.queued)
        if hasContent { self.queued.writeBytes(head.answer.response.body) }
        self.complete()
    }

    func write(_ count: Int, of content: inout ByteBuffer) {
        let isChunked = self.message.framing == .chunked
        if isChunked { self.queued.writeString("\(String(count, radix: 16))\r\n") }
        if var slice = content.readSlice(length: count) { self.queued.writeBuffer(&slice) }
        if isChunked { self.queued.writeString("\r\n") }
    }

    func complete() {
        if self.message.framing == .chunked { self.queued.writeString("0\r\n\r\n") }
        self.end()
    }

    func complete(with trailers: Trailers) {
        guard self.message.framing == .chunked else { return self.complete() }
        self.queued.writeString("0\r\n\(String(decoding: trailers.lines, as: UTF8.self))\r\n")
        self.end()
    }

    private func end() {
        self.flush()
        self.exchange?.answerSent()
        self.ends.append(!self.message.keepsAlive ? .close : self.body.isDone ? .next : .body)
    }

    func flush() {
        self.sent += String(buffer: self.queued)
        self.sentBytes += self.queued.readableBytesView
        self.queued.clear()
    }

    func beginTunnel() { self.isTunnel = true }

    func tunnel(_ bytes: ByteBuffer) {
        self.queued.writeImmutableBuffer(bytes)
        self.flush()
    }

    func abort() { self.ends.append(.aborted) }
}

/// A stream to an app and its exchange, without a socket. The test calls methods for what the app does.
final class ScriptedApp: FreeStream, AppStream {
    let own: UpstreamServer
    var server: Pinned<UpstreamServer> { Pinned(self.own) }
    var isUsable = true
    var isWritable = true
    var unacknowledgedBytes = 0
    let isReused = false
    var room: ObjectIdentifier { ObjectIdentifier(self) }
    var seat: ClientShares.Seat?
    private(set) var hasSent = false
    private(set) var hasAnswered = false
    private(set) var headText = ""
    private(set) var sent = ""
    private(set) var isPaused = false
    private(set) var isAbandoned = false
    private(set) var isClosed = false
    private(set) var hasOutputEnded = false
    private(set) var isFinished = false
    private var head: PermittedHead?
    private var body = BodyDecoder(.none)
    /// The trailer section of the answer. `nil` if none has come.
    private var section: TrailerSection?
    private var receiver: (any AnswerReceiver)?

    /// - Parameter port: That of its server.
    init(port: Int = 9) {
        let settings = UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: port)
        guard let target = try? UpstreamTarget(settings) else { fatalError("an app without TLS has no files") }
        self.own = target.first
    }

    /// How far the exchange has taken the answer.
    enum Progress {
        case more, full, end, malformed
    }

    func begin(_ head: consuming PermittedHead, for receiver: any AnswerReceiver) -> any AppStream {
        self.headText = String(buffer: head.bytes)
        self.head = consume head
        self.receiver = receiver
        return self
    }

    func close() { self.isClosed = true }
    func takeBack() -> PermittedHead? { self.head.take() }
    func pause() { self.isPaused = true }
    func resume() { self.isPaused = false }

    func endOutput() { self.hasOutputEnded = true }

    func finish() {
        self.receiver = nil
        self.isFinished = true
    }

    func abandon() {
        self.receiver = nil
        self.isAbandoned = true
    }

    /// Whether it has taken too long.
    private(set) var isExpired = false

    func expire() {
        self.isExpired = true
        self.abandon()
    }

    /// Everything that was written for the app.
    private(set) var sentBytes: [UInt8] = []
    func tunnel(_ bytes: ByteBuffer) {
        self.sent += String(buffer: bytes)
        self.sentBytes += bytes.readableBytesView
    }
    func write(_ count: Int, of content: inout ByteBuffer) {
        if let slice = content.readSlice(length: count) { self.tunnel(slice) }
    }
    func flush() {}
    /// Whether the request's body has ended.
    private(set) var isComplete = false
    func complete() { self.isComplete = true }
    /// The trailers of the request, with the ends of their lines.
    private(set) var trailers = ""
    func complete(with trailers: Trailers) {
        self.trailers = String(decoding: trailers.lines, as: UTF8.self)
        self.complete()
    }

    // MARK: The script

    /// Takes what was written, so that there is room again.
    func takesBytes() {
        self.isWritable = true
        self.receiver?.upstreamTakesBytes()
    }

    /// Sends the head.
    func send() {
        self.hasSent = true
        self.receiver?.headLeaves()
    }

    /// Begins the app's answer. nil: the exchange was abandoned.
    func answer(_ text: String) -> Progress? {
        guard let receiver = self.receiver else { return nil }
        var buffer = ByteBuffer(string: text)
        guard let head = Self.head(in: buffer, answersHead: receiver.method == .head) else { return .malformed }
        self.hasAnswered = true
        _ = self.takeBack()
        self.body = BodyDecoder(head.framing, ofAnswer: true)
        receiver.answerBegins(head, buffer)
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        return self.goOn(&buffer)
    }

    /// Sends an interim answer.
    func announce(_ text: String) {
        let buffer = ByteBuffer(string: text)
        if let head = Self.head(in: buffer) { self.receiver?.answerIsAnnounced(head, buffer) }
    }

    /// The head at the front of `buffer`; nil: it is none.
    private static func head(in buffer: ByteBuffer, answersHead: Bool = false) -> ResponseHead? {
        let head = ResponseHead(fieldCount: 50)
        let parser = ResponseParser(
            names: FieldNames(roles: FieldNames.responseRoles, managedNames: [], managedPrefixes: []),
            limit: 65_536
        )
        let result = buffer.withUnsafeReadableBytes { bytes in
            bytes.bindMemory(to: UInt8.self).baseAddress.map {
                parser.parse($0, bytes.count, into: head, answersHead: answersHead)
            }
        }
        return result == .complete ? head : nil
    }

    /// Continues the body of the answer.
    func goOn(_ text: String) -> Progress? {
        var buffer = ByteBuffer(string: text)
        return self.goOn(&buffer)
    }

    private func goOn(_ buffer: inout ByteBuffer) -> Progress? {
        guard let receiver = self.receiver else { return nil }
        let progress = self.body.decode(
            &buffer,
            { receiver.takeAnswer($0, of: &$1) },
            trailers: { self.takeTrailers($0, of: &$1) }
        )
        switch progress {
        case .more: return receiver.answerPauses() ? .more : .full
        case .malformed: return .malformed
        case .end:
            self.receiver = nil
            if let section = self.section.take() { receiver.answerEnded(with: section) } else { receiver.answerEnded() }
            return .end
        }
    }

    private func takeTrailers(_ count: Int, of content: inout ByteBuffer) {
        let section = self.section ?? TrailerSection(limit: 1024)
        section.take(count, of: &content)
        self.section = section
    }

    /// Ends the connection.
    func end(_ end: (any AnswerReceiver) -> Void) {
        let receiver = self.receiver
        self.receiver = nil
        if let receiver { end(receiver) }
    }

    /// Agrees to the upgrade.
    func upgrade(_ text: String) -> Bool {
        guard let receiver = self.receiver else { return false }
        let buffer = ByteBuffer(string: text)
        return Self.head(in: buffer).map { receiver.tunnelBegins($0, buffer) } ?? false
    }

    func tunnel(_ text: String) { self.receiver?.tunnelled(ByteBuffer(string: text)) }
    func tunnel(_ bytes: [UInt8]) { self.receiver?.tunnelled(ByteBuffer(bytes: bytes)) }
}

/// The free streams to an app, and the exchanges that wait for another one.
final class ScriptedPool: AppPool {
    var kept: [any FreeStream] = []
    /// Whether all connections are in use, so that exchanges are queued.
    var isBusy = false
    /// Why exchanges get no connection and no place in the queue. `nil` if they do.
    var refusal: Reason?
    private(set) var queuedCount = 0
    private(set) var waiters: [(waiter: any StreamWaiter, exchange: UInt64)] = []

    func takeStream(for waiter: any StreamWaiter) -> (any FreeStream)? { self.kept.popLast() }

    func awaitStream(for waiter: any StreamWaiter) {
        if let refusal = self.refusal { return waiter.upstreamFailed(refusal) }
        self.waiters.append((waiter, waiter.exchangeNumber))
        if self.isBusy {
            self.queuedCount += 1
            waiter.upstreamBusy()
        }
    }

    func awaitStream(for waiter: any StreamWaiter, after failed: any AppStream) { self.awaitStream(for: waiter) }

    let isCrowded = false
    func waiterLeft(_ waiter: any StreamWaiter) { self.queuedCount -= 1 }

    /// Begins a connection to this app for the exchange that waits for one, which cannot be made.
    func cannotConnect(to app: ScriptedApp) {
        guard let waiter = self.waiters.last?.waiter else { return }
        waiter.upstreamTried(app.own)
        waiter.upstreamMissed(.upstreamUnreachable)
    }

    /// Tells the exchange that waits that there is no connection for it.
    ///
    /// - Parameter app: Whose server was tried; nil: none was.
    func fails(_ reason: Reason, at app: ScriptedApp?) {
        guard let waiter = self.waiters.popLast()?.waiter else { return }
        if let app { waiter.upstreamTried(app.own) }
        waiter.upstreamFailed(reason)
    }

    /// Hands a stream to the exchange that waits for one. False: none waits.
    func connects(_ free: any FreeStream, isReused: Bool = false) -> Bool {
        guard let (waiter, exchange) = self.waiters.popLast(), waiter.exchangeNumber == exchange,
            waiter.isConnecting || waiter.isQueued
        else { return false }
        if waiter.isQueued {
            self.queuedCount -= 1
            waiter.upstreamFree()
        }
        waiter.upstreamReady(free, isReused: isReused)
        return true
    }

    var reports: [ServerReport] { [] }
    func sweep() {}
    func moved(to index: Int) {}
    func adopt(_ target: UpstreamTarget, index: Int) -> Bool { false }
    func retire() {}

    /// The app has several servers if there is a number.
    var retriesLeft: Int?
    var hasSeveralServers: Bool { self.retriesLeft != nil }

    func takeRetry() -> Bool {
        guard let left = self.retriesLeft, left > 0 else { return false }
        self.retriesLeft = left - 1
        return true
    }
}
