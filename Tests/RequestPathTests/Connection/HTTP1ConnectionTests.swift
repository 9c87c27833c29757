import AddressIntelligence
import NIOCore
import NIOEmbedded
import RequestPath
import Testing

/// An HTTP/1 connection without a socket: bytes in, answers out.
@Suite("An HTTP/1 connection") struct HTTP1ConnectionTests {
    private let bench: ExchangeBench
    private let channel: EmbeddedChannel
    private let connection: HTTP1Connection

    init() throws {
        self.bench = try ExchangeBench()
        self.connection = HTTP1Connection(
            loop: self.bench.loop,
            peer: try #require(IPAddress("192.0.2.1")),
            noteSession: { _, _ in }
        )
        self.channel = EmbeddedChannel(handler: self.connection, loop: self.bench.eventLoop)
        try self.channel.setOption(.maxMessagesPerRead, value: 4).wait()
        try self.channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 9)).wait()
    }

    private func come(_ text: String) throws {
        try self.channel.writeInbound(ByteBuffer(string: text))
    }

    /// The bytes that were sent since the last call.
    private func sent() throws -> String {
        var text = ""
        while let buffer = try self.channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: buffer) }
        return text
    }

    private func statuses(_ text: String) -> [Substring] {
        text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
    }

    private static let unknown = ExchangeBench.request(path: "/none")

    @Test func answersPipelinedRequestsInOrder() throws {
        try self.come(Self.unknown + ExchangeBench.request("OPTIONS", path: "/none") + Self.unknown)
        #expect(self.statuses(try self.sent()) == ["404", "404", "404"])
        #expect(!self.connection.isBusy)
    }

    @Test(arguments: [1, 7, 40]) func takesAHeadInPieces(_ step: Int) throws {
        let bytes = Array((Self.unknown + Self.unknown).utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            try self.channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + step, bytes.count)]))
        }
        #expect(self.statuses(try self.sent()) == ["404", "404"])
    }

    @Test func aRequestWaitsForTheAnswerToTheOneBeforeIt() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        try self.come(ExchangeBench.request() + Self.unknown)
        app.send()
        #expect(try self.sent().isEmpty)
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(self.statuses(try self.sent()) == ["200", "404"])
    }

    @Test func aBodyIsPassedOnAndTheNextRequestIsNotPartOfIt() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        try self.come(ExchangeBench.request("POST", ["Content-Length: 10"], body: "hello"))
        app.send()
        try self.come("world" + Self.unknown)
        #expect(app.sent == "helloworld")
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(self.statuses(try self.sent()) == ["200", "404"])
    }

    @Test func aSmallBodyBehindOurAnswerIsNoRequest() throws {
        try self.come(ExchangeBench.request("POST", path: "/none", ["Content-Length: 20"], body: "GET / "))
        try self.come("HTTP/1.1\r\n\r\n\r\n" + Self.unknown)
        #expect(self.statuses(try self.sent()) == ["404", "404"])
    }

    @Test func whatIsNoRequestEndsTheConnection() throws {
        try self.come("GET / HTTP/1.1\nHost: a\n\n" + Self.unknown)
        let answer = try self.sent()
        #expect(self.statuses(answer) == ["400"] && answer.contains("\r\nConnection: close\r\n"))
        #expect(!self.channel.isActive)
    }

    @Test func aClientThatAsksForItIsClosed() throws {
        try self.come(ExchangeBench.request(path: "/none", ["Connection: close"]) + Self.unknown)
        #expect(self.statuses(try self.sent()) == ["404"])
        #expect(!self.channel.isActive)
    }

    @Test func aDrainingLoopKeepsNoConnection() throws {
        self.bench.loop.drain()
        try self.come(Self.unknown + Self.unknown)
        #expect(self.statuses(try self.sent()) == ["404"])
        #expect(!self.channel.isActive)
    }

    @Test func aLateHeadIsToldSo() throws {
        try self.come("GET /")
        self.connection.sweep(.now() + .hours(1))
        #expect(self.statuses(try self.sent()) == ["408"])
        #expect(!self.channel.isActive)
    }

    @Test func anAnswerThatBreaksOffClosesTheConnection() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        try self.come(ExchangeBench.request())
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        #expect(self.bench.loop.busyCount == 1)
        app.end { $0.answerCut(isClean: true) }
        #expect(!self.channel.isActive && self.bench.loop.busyCount == 0)
    }

    @Test func aClientThatLeavesTakesItsRequestAlong() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        try self.come(ExchangeBench.request())
        app.send()
        _ = try self.channel.finish(acceptAlreadyClosed: true)
        #expect(app.isAbandoned && self.bench.loop.busyCount == 0)
    }
}
