import NIOCore
import RequestPath
import Sessions

/// A client that records the bytes that it is sent, and hands over a body when the exchange asks for it.
final class ScriptedClient: ClientStream {
    enum End: Equatable {
        case next, body, close, aborted
    }

    var exchange: Exchange?
    var isWritable = true
    var unsentBytes = 0
    var unacknowledgedBytes = 0
    /// The received bytes of the request after its head.
    var input = ByteBuffer()
    private var queued = ""
    private(set) var sent = ""
    private(set) var ends: [End] = []
    private(set) var isPaused = false
    private(set) var isTunnel = false
    private(set) var sessions = 0

    /// Everything that was written, also if it is no text.
    private(set) var sentBytes: [UInt8] = []

    func write(_ bytes: ByteBuffer) {
        self.queued += String(buffer: bytes)
        self.sentBytes += bytes.readableBytesView
    }

    func writeAndFlush(_ bytes: ByteBuffer) {
        self.write(bytes)
        self.flush()
    }

    func flush() {
        self.sent += self.queued
        self.queued = ""
    }

    func pauseReading() { self.isPaused = true }
    func resumeReading() { self.isPaused = false }
    func signedIn() { self.sessions += 1 }

    func passBody() {
        guard let exchange = self.exchange else { return }
        while self.input.readableBytes > 0 {
            switch exchange.bodyDemand {
            case .now: exchange.takeBody(&self.input)
            case .discard: self.input.clear()
            case .soon, .ended, .wait: return
            }
        }
    }

    func beginTunnel() { self.isTunnel = true }

    func answerEnded(_ end: AnswerEnd) {
        switch end {
        case .next: self.ends.append(.next)
        case .body: self.ends.append(.body)
        case .close: self.ends.append(.close)
        }
    }

    func abort() { self.ends.append(.aborted) }
}

/// A connection to an app and its exchange, without a socket. The test calls methods for what the app does.
final class ScriptedApp: AppConnection, AppStream {
    var isUsable = true
    var isWritable = true
    var unacknowledgedBytes = 0
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
    private var receiver: (any AnswerReceiver)?

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

    /// Everything that was written for the app.
    private(set) var sentBytes: [UInt8] = []
    func write(_ bytes: ByteBuffer) {
        self.sent += String(buffer: bytes)
        self.sentBytes += bytes.readableBytesView
    }
    func writeAndFlush(_ bytes: ByteBuffer) { self.write(bytes) }
    func flush() {}

    // MARK: The script

    /// Sends the head.
    func send() {
        self.hasSent = true
        self.receiver?.headLeaves()
    }

    /// Begins the app's answer. nil: the exchange was abandoned.
    func answer(_ text: String) -> AnswerProgress? {
        guard let receiver = self.receiver else { return nil }
        var buffer = ByteBuffer(string: text)
        let head = ResponseHead(fieldCount: 50)
        let parser = ResponseParser(
            names: FieldNames(roles: FieldNames.responseRoles, managedNames: [], managedPrefixes: []),
            limit: 65_536
        )
        let result = buffer.withUnsafeReadableBytes { bytes in
            bytes.bindMemory(to: UInt8.self).baseAddress.map {
                parser.parse($0, bytes.count, into: head, answersHead: receiver.method == .head)
            }
        }
        guard result == .complete else { return .malformed }
        self.hasAnswered = true
        _ = self.takeBack()
        let progress = receiver.answerBegins(head, &buffer)
        return self.goOn(progress)
    }

    /// Continues the body of the answer.
    func goOn(_ text: String) -> AnswerProgress? {
        var buffer = ByteBuffer(string: text)
        guard let progress = self.receiver?.answerContinues(&buffer) else { return nil }
        return self.goOn(progress)
    }

    private func goOn(_ progress: AnswerProgress) -> AnswerProgress {
        guard case .end = progress, let receiver = self.receiver else { return progress }
        self.receiver = nil
        receiver.answerEnded()
        return progress
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
        let head = ResponseHead(fieldCount: 50)
        let parser = ResponseParser(
            names: FieldNames(roles: FieldNames.responseRoles, managedNames: [], managedPrefixes: []),
            limit: 65_536
        )
        let result = buffer.withUnsafeReadableBytes { bytes in
            bytes.bindMemory(to: UInt8.self).baseAddress.map { parser.parse($0, bytes.count, into: head) }
        }
        return result == .complete && receiver.tunnelBegins(head, buffer)
    }

    func tunnel(_ text: String) { self.receiver?.tunnelled(ByteBuffer(string: text)) }
    func tunnel(_ bytes: [UInt8]) { self.receiver?.tunnelled(ByteBuffer(bytes: bytes)) }
}

/// The kept connections to an app, and the exchanges that wait for another one.
final class ScriptedPool: AppPool {
    var kept: [any AppConnection] = []
    /// Whether all connections are in use, so that exchanges are queued.
    var isBusy = false
    private(set) var queuedCount = 0
    private(set) var waiters: [(waiter: any ConnectionWaiter, exchange: UInt64)] = []

    func takeIdle(for waiter: any ConnectionWaiter) -> (any AppConnection)? { self.kept.popLast() }

    func connect(for waiter: any ConnectionWaiter) {
        self.waiters.append((waiter, waiter.exchangeNumber))
        if self.isBusy {
            self.queuedCount += 1
            waiter.upstreamBusy()
        }
    }

    func waiterLeft() { self.queuedCount -= 1 }

    /// Hands a connection to the exchange that waits for one. False: none waits.
    func connects(_ connection: any AppConnection, isReused: Bool = false) -> Bool {
        guard let (waiter, exchange) = self.waiters.popLast(), waiter.exchangeNumber == exchange,
            waiter.isConnecting || waiter.isQueued
        else { return false }
        if waiter.isQueued {
            self.queuedCount -= 1
            waiter.upstreamFree()
        }
        waiter.upstreamConnected(connection, isReused: isReused)
        return true
    }

    func sweep() {}
    func turnEnded() {}
    func moved(to index: Int) {}
    func retire() {}
}
