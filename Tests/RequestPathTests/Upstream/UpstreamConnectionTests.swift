import NIOCore
import NIOEmbedded
import RequestPath
import Testing
import Transport

/// What an app may send on a connection, without a socket.
@Suite("A connection to an app") struct UpstreamConnectionTests {
    private let bench: ExchangeBench
    private let connection: UpstreamConnection
    private let stream = ScriptedStream()

    init() throws {
        self.bench = try ExchangeBench()
        let pool = UpstreamPool(
            target: self.bench.target,
            index: 0,
            loop: self.bench.loop,
            transport: try TransportLoop()
        )
        self.connection = UpstreamConnection(self.stream, pool: pool)
        try self.stream.start(self.connection)
        self.bench.pool.kept = [self.connection]
    }

    private var client: ScriptedClient { self.bench.client }

    private func come(_ text: String) { self.stream.come(text) }

    /// Begins a request and sends its head, as at the end of the loop's turn.
    private func send(_ request: String = ExchangeBench.request()) throws {
        try self.bench.begin(request)
        self.bench.eventLoop.run()
    }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

    @Test func aHeadLeavesAtTheEndOfTheTurn() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        #expect(self.stream.sent().isEmpty && !self.connection.hasSent)
        self.bench.eventLoop.run()
        let request = self.stream.sent()
        #expect(request.hasPrefix("POST /app/x HTTP/1.1\r\n") && self.connection.hasSent)
        #expect(request.hasSuffix("\r\n\r\nhello"))
    }

    @Test(arguments: [1, 9, 200]) func anAnswerIsTakenInPieces(_ step: Int) throws {
        try self.send()
        let bytes = Array(Self.answer.utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            self.come(String(decoding: bytes[start..<min(start + step, bytes.count)], as: UTF8.self))
        }
        #expect(self.client.sent.hasPrefix("HTTP/1.1 200 OK\r\n") && self.client.sent.hasSuffix("\r\n\r\nhello"))
        #expect(self.client.ends == [.next] && self.connection.isUsable)
    }

    @Test(arguments: [0, 1, 16, 17]) func interimAnswersAreLeftOutUpToAMeasure(_ count: Int) throws {
        try self.send()
        self.come(String(repeating: Self.interim, count: count) + Self.answer)
        #expect(!self.client.sent.contains("Early Hints"))
        #expect(self.client.sent.hasPrefix(count <= 16 ? "HTTP/1.1 200 " : "HTTP/1.1 502 "))
    }

    @Test func anInterimAnswerIsNoReasonToSendAgain() throws {
        try self.send()
        self.come(Self.interim)
        #expect(self.connection.hasAnswered)
        self.stream.end()
        #expect(self.bench.pool.waiters.isEmpty && self.client.sent.hasPrefix("HTTP/1.1 502 "))
    }

    @Test func aConnectionThatEndsUnansweredIsAReason() throws {
        try self.send()
        self.stream.end()
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second))
        #expect(second.headText.hasPrefix("GET /app/x HTTP/1.1\r\n") && self.client.sent.isEmpty)
    }

    @Test func bytesBeforeTheHeadHasLeftAreNoAnswer() throws {
        try self.bench.begin(ExchangeBench.request())
        self.come(Self.answer)
        #expect(!self.connection.isUsable && !self.stream.isOpen && self.client.sent.isEmpty)
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second) && !second.headText.isEmpty)
    }

    @Test(arguments: [
        answer + "x", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    ]) func aConnectionIsNotKeptBehindMoreOrLess(_ text: String) throws {
        try self.send()
        self.come(text)
        #expect(self.client.ends == [.next] && !self.connection.isUsable && !self.stream.isOpen)
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 103 A\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/2 200\r\n\r\n",
    ]) func anAnswerThatCannotBePassedOnIsNone(_ text: String) throws {
        try self.send()
        self.come(text)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 502 ") && !self.stream.isOpen)
        #expect(self.bench.pool.waiters.isEmpty)
    }

    @Test func anUpgradeIsATunnelWithWhatCameBehindIt() throws {
        let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"]
        try self.send(ExchangeBench.request("GET", fields))
        self.come(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\u{1}\u{2}ab"
        )
        #expect(self.client.isTunnel && self.client.sent.hasSuffix("\r\n\r\n\u{1}\u{2}ab"))
        #expect(self.connection.isBetweenFrames)
        self.stream.end()
        #expect(self.client.ends == [.close])
    }
}
