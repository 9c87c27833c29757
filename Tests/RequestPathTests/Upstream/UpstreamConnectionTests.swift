import NIOCore
import NIOEmbedded
import RequestPath
import Testing
import Transport
import Vocabulary

/// What an app may send on a connection, without a socket.
@Suite("A connection to an app") struct UpstreamConnectionTests {
    private let bench: ExchangeBench
    private let connection: UpstreamConnection
    private let stream = ScriptedStream()

    init() throws {
        self.bench = try ExchangeBench()
        self.connection = try self.bench.keep(self.stream).connection
    }

    private var client: ScriptedClient { self.bench.client }

    private func come(_ text: String) { self.stream.come(text) }

    /// Begins a request and sends its head, as at the end of the loop's turn.
    private func send(_ request: String = ExchangeBench.request()) throws {
        try self.bench.begin(request)
        self.bench.eventLoop.run()
    }

    private static func another() throws -> (ExchangeBench, UpstreamConnection, ScriptedStream) {
        let test = try UpstreamConnectionTests()
        return (test.bench, test.connection, test.stream)
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

    @Test(arguments: [0, 1, 16, 17]) func interimAnswersPassUpToAMeasure(_ count: Int) throws {
        try self.send()
        self.come(String(repeating: Self.interim, count: count) + Self.answer)
        let passed = String(repeating: Self.interim, count: min(count, 16))
        #expect(self.client.sent.hasPrefix(passed + (count <= 16 ? "HTTP/1.1 200 " : "HTTP/1.1 502 ")))
    }

    @Test(arguments: [1, 7, 100]) func interimAnswersPassInPieces(_ step: Int) throws {
        try self.send()
        let bytes = Array((Self.interim + "HTTP/1.1 100 Continue\r\n\r\n" + Self.interim + Self.answer).utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            self.come(String(decoding: bytes[start..<min(start + step, bytes.count)], as: UTF8.self))
        }
        #expect(self.client.sent.hasPrefix(Self.interim + Self.interim + "HTTP/1.1 200 OK\r\n"))
        #expect(self.client.ends == [.next] && self.connection.isUsable)
    }

    @Test func interimAnswersPassNeitherToAnOldClientNorToAWebSocketNorToAFullOne() throws {
        try self.send(ExchangeBench.request().replacing("HTTP/1.1", with: "HTTP/1.0"))
        self.come(Self.interim + Self.answer)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 200 ") && !self.client.sent.contains("Early Hints"))
        let (bench, connection, stream) = try Self.another()
        let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"]
        try bench.begin(ExchangeBench.request("GET", fields))
        bench.eventLoop.run()
        stream.come(Self.interim + "HTTP/1.1 101 A\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        #expect(bench.client.sent.hasPrefix("HTTP/1.1 101 ") && !bench.client.sent.contains("Early Hints"))
        #expect(!connection.isUsable)
        let (full, _, late) = try Self.another()
        try full.begin(ExchangeBench.request())
        full.eventLoop.run()
        full.client.isWritable = false
        late.come(Self.interim)
        full.client.isWritable = true
        late.come(Self.interim + Self.answer)
        #expect(full.client.sent.hasPrefix(Self.interim + "HTTP/1.1 200 "))
    }

    @Test func aHintGoesToNobodyWhenTheClientHasLeft() throws {
        try self.send()
        self.bench.exchange.clientLeft()
        self.come(Self.interim + Self.answer)
        #expect(self.client.sent.isEmpty && !self.stream.isOpen)
    }

    @Test func anInterimAnswerIsNoReasonToSendAgain() throws {
        try self.send()
        self.come(Self.interim)
        #expect(self.connection.hasAnswered)
        self.stream.end()
        #expect(self.bench.pool.waiters.isEmpty && self.client.sent.hasPrefix(Self.interim + "HTTP/1.1 502 "))
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

    @Test(arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func anAnswerThatIsCutBreaksOff(_ framing: String) throws {
        try self.send()
        self.come("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n5\r\nhel")
        self.stream.end()
        #expect(self.client.ends == [.aborted])
    }

    @Test(arguments: [true, false]) func anOpenEndIsWholeIfTheConnectionEndedCleanly(_ isClean: Bool) throws {
        try self.send()
        self.come("HTTP/1.1 200 OK\r\n\r\nhello")
        self.stream.end(isClean: isClean)
        #expect(self.client.ends == [isClean ? .next : .aborted])
        #expect(self.client.sent.hasSuffix("0\r\n\r\n") == isClean)
    }

    @Test(arguments: [1, 3, 100]) func aBodyGoesInTheGatewaysChunks(_ step: Int) throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Transfer-Encoding: chunked"]))
        self.bench.eventLoop.run()
        _ = self.stream.sent()
        let bytes = Array("5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n".utf8)
        var sent = ""
        for start in stride(from: 0, to: bytes.count, by: step) {
            self.client.input = ByteBuffer(bytes: bytes[start..<min(start + step, bytes.count)])
            self.client.passBody()
            sent += self.stream.sent()
        }
        let chunks = [1: "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n", 3: "2\r\nhe\r\n3\r\nllo\r\n"]
        #expect(sent == (chunks[step] ?? "5\r\nhello\r\n") + "0\r\nX: y\r\n\r\n")
    }

    /// The app must not take a part of the body for all of it, nor the next request on another connection for its rest.
    @Test func nothingOfARefusedBodyFollows() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Transfer-Encoding: chunked"], body: "1\r\na\r\nx"))
        self.bench.eventLoop.run()
        #expect(self.stream.sent().hasSuffix("\r\n\r\n1\r\na\r\n") && !self.stream.isOpen)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 400 ") && self.client.ends == [.close])
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
        "HTTP/1.1 103 A\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/2 200\r\n\r\n",
    ]) func anAnswerThatCannotBePassedOnIsNone(_ text: String) throws {
        try self.send()
        self.come(text)
        #expect(self.client.sent.contains("HTTP/1.1 502 ") && !self.stream.isOpen)
        #expect(self.bench.pool.waiters.isEmpty)
    }

    /// RFC 9112 6.3: it ends with its head.
    @Test(arguments: [
        ("GET", "204 A\r\n", true), ("GET", "204 A\r\nContent-Length: 0\r\n", true),
        ("GET", "204 A\r\nTransfer-Encoding: chunked\r\n", false), ("GET", "204 A\r\nContent-Length: 3\r\n", false),
        ("GET", "204 A\r\nContent-Length: x\r\n", false), ("GET", "304 A\r\nContent-Length: 3\r\n", true),
        ("GET", "304 A\r\nTransfer-Encoding: chunked\r\n", true),
        ("HEAD", "200 A\r\nTransfer-Encoding: chunked\r\n", true),
        ("HEAD", "200 A\r\nContent-Length: 3, 3\r\n", true), ("HEAD", "204 A\r\nTransfer-Encoding: chunked\r\n", false),
        ("GET", "103 A\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 A\r\n", true),
        ("GET", "103 A\r\nTransfer-Encoding: chunked\r\n\r\nHTTP/1.1 204 A\r\n", false),
    ]) func anAnswerWithoutContentEndsWithItsHead(_ method: String, _ head: String, _ isKept: Bool) throws {
        try self.send(ExchangeBench.request(method))
        self.come("HTTP/1.1 \(head)\r\n")
        #expect(self.client.ends == [.next] && !self.client.sent.contains("ransfer-"))
        #expect(self.connection.isUsable == isKept && self.stream.isOpen == isKept)
        let (bench, connection, stream) = try Self.another()
        try bench.begin(ExchangeBench.request(method))
        bench.eventLoop.run()
        stream.come("HTTP/1.1 \(head)\r\n0\r\n\r\n")
        #expect(bench.client.ends == [.next] && bench.client.sent.hasSuffix("\r\n\r\n"))
        #expect(!connection.isUsable && !stream.isOpen && !bench.client.sent.contains("0\r\n\r\n"))
    }

    /// 205 has no content either, but its framing says so (RFC 9110 15.3.6).
    @Test func anEmptyAnswerWithContentIsReadByItsFraming() throws {
        try self.send()
        self.come("HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
        #expect(self.client.sent.hasSuffix("1\r\na\r\n0\r\n\r\n") && self.connection.isUsable)
    }

    @Test func theOperatorIsToldWhatIsWrongOnceAMinute() throws {
        var notices: [UpstreamNotice] = []
        self.bench.loop.onUpstreamNotice = { notices.append($0) }
        try self.send()
        self.come("HTTP/1.1 200 OK\r\nX: 1\r\ncontent-length: secret\r\n\r\n")
        let notice = try #require(notices.first)
        #expect(notice.upstream == "app" && notice.reason == .upstreamMalformed && notice.field == "content-length")
        #expect(notice.sentence == ResponseFault.Rule.length.rawValue && notices.count == 1)
    }

    @Test func anUpgradeIsATunnelWithWhatCameBehindIt() throws {
        let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"]
        try self.send(ExchangeBench.request("GET", fields))
        self.come(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\u{1}\u{2}ab"
        )
        #expect(self.client.isTunnel && self.client.sent.hasSuffix("\r\n\r\n\u{1}\u{2}ab"))
        self.stream.end()
        #expect(self.client.ends == [.close])
    }
}
