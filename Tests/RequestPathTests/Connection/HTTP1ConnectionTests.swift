import AddressIntelligence
import NIOCore
import RequestPath
import Synchronization
import Testing

/// An HTTP/1 connection without a socket: bytes in, answers out.
@Suite("An HTTP/1 connection") struct HTTP1ConnectionTests {
    private let bench: ExchangeBench
    private let stream = ScriptedStream()
    private let count = ScriptedCount()
    private let connection: HTTP1Connection
    private let admittedAt = NIODeadline.now() - .seconds(1)

    init() throws {
        self.bench = try ExchangeBench()
        self.connection = HTTP1Connection(
            loop: self.bench.loop,
            stream: self.stream,
            peer: try #require(IPAddress("192.0.2.1")),
            isCounted: true,
            admittedAt: self.admittedAt,
            clients: self.count
        )
        self.connection.open()
    }

    private func come(_ text: String) { self.stream.come(text) }

    /// The bytes that were sent since the last call.
    private func sent() -> String { self.stream.sent() }

    private func statuses(_ text: String) -> [Substring] {
        text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
    }

    private static let unknown = ExchangeBench.request(path: "/none")

    @Test func answersPipelinedRequestsInOrder() throws {
        self.come(Self.unknown + ExchangeBench.request("OPTIONS", path: "/none") + Self.unknown)
        #expect(self.statuses(self.sent()) == ["404", "404", "404"])
        #expect(!self.connection.isBusy)
    }

    /// A search for idle connections closes those that were admitted before it began, also if a busy loop opens them later.
    @Test func isQuietSinceItsAdmission() {
        #expect(self.connection.quietSince == self.admittedAt)
    }

    @Test(arguments: [1, 7, 40]) func takesAHeadInPieces(_ step: Int) throws {
        let bytes = Array((Self.unknown + Self.unknown).utf8)
        for start in stride(from: 0, to: bytes.count, by: step) {
            self.come(String(decoding: bytes[start..<min(start + step, bytes.count)], as: UTF8.self))
        }
        #expect(self.statuses(self.sent()) == ["404", "404"])
    }

    @Test func aRequestWaitsForTheAnswerToTheOneBeforeIt() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request() + Self.unknown)
        app.send()
        #expect(self.sent().isEmpty)
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(self.statuses(self.sent()) == ["200", "404"])
    }

    @Test func aRequestWaitsUntilTheClientReadsTheAnswersBeforeIt() {
        self.come(Self.unknown)
        _ = self.sent()
        self.stream.isWritable = false
        self.come(Self.unknown + Self.unknown)
        #expect(self.sent().isEmpty && self.stream.isPaused)
        self.stream.takesBytes()
        #expect(self.statuses(self.sent()) == ["404", "404"])
        #expect(!self.stream.isPaused)
    }

    @Test func aBodyIsPassedOnAndTheNextRequestIsNotPartOfIt() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request("POST", ["Content-Length: 10"], body: "hello"))
        app.send()
        self.come("world" + Self.unknown)
        #expect(app.sent == "helloworld")
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(self.statuses(self.sent()) == ["200", "404"])
    }

    @Test func aSmallBodyBehindOurAnswerIsNoRequest() throws {
        self.come(ExchangeBench.request("POST", path: "/none", ["Content-Length: 20"], body: "GET / "))
        self.come("HTTP/1.1\r\n\r\n\r\n" + Self.unknown)
        #expect(self.statuses(self.sent()) == ["404", "404"])
    }

    @Test func whatIsNoRequestEndsTheConnection() throws {
        self.come("GET / HTTP/1.1\nHost: a\n\n" + Self.unknown)
        let answer = self.sent()
        #expect(self.statuses(answer) == ["400"] && answer.contains("\r\nConnection: close\r\n"))
        #expect(self.stream.hasOutputEnded)
    }

    @Test func aClientThatAsksForItIsClosed() throws {
        self.come(ExchangeBench.request(path: "/none", ["Connection: close"]) + Self.unknown)
        #expect(self.statuses(self.sent()) == ["404"])
        #expect(self.stream.hasOutputEnded)
    }

    @Test func aDrainingLoopKeepsNoConnection() throws {
        self.bench.loop.drain()
        self.come(Self.unknown + Self.unknown)
        #expect(self.statuses(self.sent()) == ["404"])
        #expect(self.stream.hasOutputEnded)
    }

    @Test func aLateHeadIsToldSo() throws {
        self.come("GET /")
        self.connection.sweep(.now() + .hours(1))
        #expect(self.statuses(self.sent()) == ["408"])
        #expect(self.stream.hasOutputEnded)
    }

    @Test func anAnswerThatBreaksOffClosesTheConnection() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request())
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        #expect(self.bench.loop.busyCount == 1)
        app.end { $0.answerCut(isClean: true) }
        #expect(self.stream.isReset && self.bench.loop.busyCount == 0)
    }

    @Test func aClientThatLeavesTakesItsRequestAlong() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request())
        app.send()
        self.stream.end()
        #expect(app.isAbandoned && self.bench.loop.busyCount == 0)
    }

    @Test func aClientThatLeftIsCountedOnce() {
        self.come(ExchangeBench.request(path: "/none", ["Connection: close"]))
        #expect(self.count.leftCount == 0)
        self.stream.end(isClean: false)
        self.connection.closeNow()
        #expect(self.count.leftCount == 1)
    }
}

/// Counts the clients that have left.
private final class ScriptedCount: ClientCount {
    private let left = Mutex(0)
    var leftCount: Int { self.left.withLock { $0 } }

    func noteSession(_ address: IPAddress, now: NIODeadline) {}
    func left(_ address: IPAddress, isCounted: Bool) { self.left.withLock { $0 += 1 } }
}
