import NIOCore
import RequestPath
import Testing
import Vocabulary

/// One request and its answer, between a scripted client and a scripted app.
@Suite("An exchange") struct ExchangeTests {
    private let bench: ExchangeBench
    private let app = ScriptedApp()

    init() throws {
        self.bench = try ExchangeBench()
    }

    private var client: ScriptedClient { self.bench.client }

    /// Begins a request on a kept connection and sends its head.
    private func send(_ request: String) throws {
        self.bench.pool.kept = [self.app]
        try self.bench.begin(request)
        self.app.send()
    }

    @Test func passesBothMessagesOn() throws {
        try self.send(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        #expect(self.app.headText.hasPrefix("POST /app/x HTTP/1.1\r\nHost: app.example.com\r\n"))
        #expect(self.app.headText.contains("X-Forwarded-For: 192.0.2.1\r\n"))
        #expect(self.app.sent == "hello")
        _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nwor")
        _ = self.app.goOn("ld!")
        #expect(self.client.sent.hasPrefix("HTTP/1.1 200 OK\r\n") && self.client.sent.hasSuffix("\r\n\r\nworld!"))
        #expect(self.client.ends == [.next])
    }

    @Test func aBodyWaitsUntilTheHeadHasLeft() throws {
        self.bench.pool.kept = [self.app]
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hel"))
        #expect(self.app.sent.isEmpty)
        self.app.send()
        #expect(self.app.sent == "hel" && !self.app.isComplete)
    }

    @Test func aClientIsAskedForItsBodyWhenAnAppTakesIt() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Transfer-Encoding: chunked", "Expect: 100-continue"]))
        #expect(!self.client.isAsked)
        #expect(self.bench.pool.connects(self.app) && self.client.isAsked)
    }

    @Test func aBodyWithALengthTakesAConnectionWhenItsFirstByteComes() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5", "Expect: 100-continue"]))
        self.bench.exchange.sweep(.now())
        #expect(self.client.isAsked && self.bench.pool.waiters.isEmpty)
        self.client.input.writeString("h")
        self.client.passBody()
        #expect(self.bench.pool.waiters.count == 1 && self.bench.pool.connects(self.app))
        self.app.send()
        self.client.input.writeString("ello")
        self.client.passBody()
        #expect(self.app.sent == "hello" && self.app.isComplete)
    }

    @Test func aBodyWithALengthThatDoesNotComeTakesAConnectionAfterAMoment() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"]))
        #expect(self.bench.pool.waiters.isEmpty)
        self.bench.exchange.sweep(.now() + .seconds(2))
        #expect(self.bench.pool.waiters.count == 1 && self.bench.pool.connects(self.app))
        self.app.send()
        // An app may answer without the body.
        _ = self.app.answer("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        #expect(self.client.sent.hasPrefix("HTTP/1.1 401 "))
    }

    @Test(arguments: ["Content-Length: 0", "Transfer-Encoding: chunked", "Accept: */*"])
    func aRequestWithoutALengthIsNotHeldBack(_ field: String) throws {
        try self.bench.begin(ExchangeBench.request("POST", [field]))
        #expect(self.bench.pool.waiters.count == 1)
    }

    @Test func aClientThatLeavesBeforeItsBodyTakesNoConnection() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"]))
        self.bench.exchange.clientLeft()
        self.bench.exchange.sweep(.now() + .seconds(2))
        #expect(self.bench.pool.waiters.isEmpty)
    }

    // MARK: Retries

    /// Which requests are sent once more on a new connection when a kept one was reset.
    @Test(arguments: [
        ("GET", "", true), ("PUT", "Content-Length: 0", true), ("POST", "Content-Length: 0", false),
        ("PUT", "Transfer-Encoding: chunked", false),
    ]) func onlyWhatHasNoEffectTwiceIsSentAgain(_ method: String, _ field: String, _ isRepeated: Bool) throws {
        let body = field.hasPrefix("Transfer") ? "0\r\n\r\n" : ""
        try self.send(ExchangeBench.request(method, field.isEmpty ? [] : [field], body: body))
        self.app.end { $0.upstreamFailed(.upstreamReset) }
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second) == isRepeated)
        #expect(second.headText == (isRepeated ? self.app.headText : ""))
        #expect(self.client.sent.isEmpty == isRepeated)
    }

    @Test func isSentAgainOnceAtMost() throws {
        try self.send(ExchangeBench.request())
        self.app.end { $0.upstreamFailed(.upstreamReset) }
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second))
        second.send()
        second.end { $0.upstreamFailed(.upstreamReset) }
        #expect(!self.bench.pool.connects(ScriptedApp()))
        #expect(self.client.sent.hasPrefix("HTTP/1.1 502 "))
        #expect(self.client.ends == [.next])
    }

    /// A new connection that breaks off: only another server can serve the request, and only an idempotent one.
    @Test(arguments: [(1, "GET", true), (0, "GET", false), (nil, "GET", false), (1, "POST", false)])
    func isSentToAnotherServer(_ retries: Int?, _ method: String, _ isRepeated: Bool) throws {
        self.bench.pool.retriesLeft = retries
        try self.bench.begin(ExchangeBench.request(method))
        #expect(self.bench.pool.connects(self.app))
        self.app.send()
        self.app.end { $0.upstreamFailed(.upstreamReset) }
        #expect(self.bench.pool.connects(ScriptedApp()) == isRepeated)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 502 ") == !isRepeated)
        if isRepeated { #expect(self.bench.pool.retriesLeft == 0) }
    }

    /// Its head was not sent, so it cannot have had an effect.
    @Test(arguments: [true, false]) func aPostGoesToAnotherServerIfNothingOfItHasLeft(_ areSeveral: Bool) throws {
        self.bench.pool.retriesLeft = areSeveral ? 0 : nil
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        #expect(self.bench.pool.connects(self.app))
        self.app.end { $0.upstreamFailed(.upstreamTLS) }
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second) == areSeveral)
        if areSeveral { second.send() }
        #expect(second.sent == (areSeveral ? "hello" : ""))
    }

    @Test func aPostGoesOnANewConnectionIfNothingOfItHasLeft() throws {
        self.bench.pool.kept = [self.app]
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        self.app.end { $0.upstreamFailed(.upstreamReset) }
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second))
        second.send()
        #expect(second.headText == self.app.headText && second.sent == "hello")
    }

    @Test func whatAnAppSaysUnaskedIsNoAnswer() throws {
        self.bench.pool.kept = [self.app]
        try self.bench.begin(ExchangeBench.request())
        self.app.end { $0.upstreamSpokeFirst() }
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second))
        // On a new connection such bytes are not HTTP.
        second.end { $0.upstreamSpokeFirst() }
        #expect(self.client.sent.hasPrefix("HTTP/1.1 502 "))
    }

    @Test func aConnectionThatClosedMeanwhileIsNotUsed() throws {
        self.app.isUsable = false
        self.bench.pool.kept = [self.app]
        try self.bench.begin(ExchangeBench.request())
        let second = ScriptedApp()
        #expect(self.app.isClosed && self.bench.pool.connects(second))
        #expect(self.app.headText.isEmpty && !second.headText.isEmpty)
    }

    // MARK: Answers that do not end normally

    @Test func anEarlyAnswerClosesTheConnection() throws {
        try self.send(ExchangeBench.request("POST", ["Content-Length: 10"], body: "hello"))
        _ = self.app.answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
        #expect(self.client.sent.contains("\r\nConnection: close\r\n"))
        #expect(self.client.ends == [.close])
    }

    @Test func anAnswerThatIsCutBreaksOff() throws {
        try self.send(ExchangeBench.request())
        _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        self.app.end { $0.upstreamFailed(.upstreamTruncated) }
        #expect(self.client.ends == [.aborted])
    }

    @Test func aClientThatLeavesTakesTheRequestAlong() throws {
        try self.send(ExchangeBench.request())
        self.bench.exchange.clientLeft()
        #expect(self.app.isAbandoned)
        #expect(self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") == nil)
        #expect(self.client.sent.isEmpty && self.client.ends.isEmpty)
    }

    @Test func aConnectionForAClientThatLeftIsNotHanded() throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.exchange.clientLeft()
        #expect(!self.bench.pool.connects(self.app))
    }

    @Test func anAnswerBreaksOff() throws {
        try self.send(ExchangeBench.request())
        _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        #expect(self.bench.exchange.breakOff())
        #expect(self.app.isAbandoned && self.client.ends == [.aborted])
    }

    @Test func aRequestWithoutAnAnswerIsNotBrokenOff() throws {
        try self.send(ExchangeBench.request())
        #expect(!self.bench.exchange.breakOff() && self.client.ends.isEmpty)
    }

    @Test func anAppThatDoesNotAnswerIsGivenUp() throws {
        try self.send(ExchangeBench.request())
        self.bench.exchange.sweep(.now())
        #expect(self.client.sent.isEmpty)
        self.bench.exchange.sweep(.now() + .hours(1))
        #expect(self.app.isAbandoned && self.client.sent.hasPrefix("HTTP/1.1 504 "))
    }

    // MARK: The gateway's own answers

    /// What happens to the rest of a request that is answered at once.
    @Test(arguments: [(0, ScriptedClient.End.next), (100, .body), (1_000_000, .close)])
    func aSmallBodyIsReadAwayAndALargeOneIsNot(_ length: Int, _ end: ScriptedClient.End) throws {
        try self.bench.begin(ExchangeBench.request("POST", path: "/none", ["Content-Length: \(length)"]))
        #expect(self.client.sent.hasPrefix("HTTP/1.1 404 "))
        #expect(self.client.sent.contains("\r\nConnection: close\r\n") == (end == .close))
        #expect(self.client.ends == [end])
    }

    @Test("A client that is cut because it is stalled gets an answer that closes its connection")
    func stalledClient() throws {
        try self.send(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hel"))
        self.bench.exchange.endStalled()
        #expect(self.client.sent.hasPrefix("HTTP/1.1 \(Reason.clientStalled.status) "))
        #expect(self.client.sent.contains(Reason.clientStalled.rawValue) && self.client.ends == [.close])
        #expect(!self.app.isComplete)
    }

    @Test func aLateHeadAndARefusedOneCloseTheConnection() {
        self.bench.exchange.refuse(.requestTimeout, ByteBuffer(), by: self.bench.configuration)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 408 ") && self.client.ends == [.close])
        self.bench.exchange.refuse(
            .requestMalformed,
            ByteBuffer(string: "?"),
            by: self.bench.configuration
        )
        #expect(self.client.sent.contains("HTTP/1.1 400 ") && self.client.ends == [.close, .close])
    }

    // MARK: Back-pressure

    @Test func anAppIsReadAsFastAsTheClientReads() throws {
        try self.send(ExchangeBench.request())
        self.client.isWritable = false
        let progress = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        #expect(progress == .full)
        self.app.pause()
        self.bench.exchange.clientTakesBytes()
        #expect(!self.app.isPaused)
    }

    @Test func aClientIsReadAsFastAsTheAppReads() throws {
        self.app.isWritable = false
        try self.send(ExchangeBench.request("POST", ["Content-Length: 10"], body: "hello"))
        #expect(self.client.isPaused)
        self.bench.exchange.upstreamTakesBytes()
        #expect(!self.client.isPaused)
    }

    // MARK: WebSockets

    @Test func aWebSocketBecomesATunnel() throws {
        let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"]
        try self.send(ExchangeBench.request("GET", fields))
        #expect(
            self.app.upgrade("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        )
        #expect(self.client.isTunnel && self.client.sent.hasPrefix("HTTP/1.1 101 "))
        self.app.tunnel("ping")
        self.bench.exchange.tunnelToUpstream(ByteBuffer(string: "pong"))
        #expect(self.client.sent.hasSuffix("\r\n\r\nping") && self.app.sent == "pong")
        self.app.end { $0.tunnelEnded() }
        #expect(self.client.ends == [.close])
    }

    /// A tunnel whose app and client have sent these bytes.
    private func openTunnel(fromApp: [UInt8] = [], fromClient: [UInt8] = []) throws {
        try self.send(ExchangeBench.upgrade)
        #expect(self.app.upgrade(ExchangeBench.upgraded))
        self.app.tunnel(fromApp)
        self.bench.exchange.tunnelToUpstream(ByteBuffer(bytes: fromClient))
        try #require(self.client.isTunnel && self.client.ends.isEmpty)
    }

    private static let text: [UInt8] = [0x81, 0x02, 0x68, 0x69]
    private static let goingAway: [UInt8] = [0x88, 0x02, 0x03, 0xE9]

    @Test func aStoppingGatewayTellsBothEndsOfAWebSocket() throws {
        try self.openTunnel(fromApp: Self.text, fromClient: Self.text)
        self.bench.exchange.sweep(.now())
        #expect(self.client.ends.isEmpty)
        self.bench.loop.closeIdle()
        self.bench.exchange.sweep(.now())
        #expect(self.client.sentBytes.suffix(4) == Self.goingAway[...] && self.client.ends == [.close])
        let last = Array(self.app.sentBytes.dropFirst(Self.text.count))
        try #require(last.count == 8)
        #expect(last[0] == 0x88 && last[1] == 0x82, "a client masks what it sends")
        #expect(last[6] ^ last[2] == 0x03 && last[7] ^ last[3] == 0xE9)
        #expect(self.app.isFinished)
    }

    @Test func aStoppingGatewayWaitsForTheEndOfAFrame() throws {
        try self.openTunnel(fromApp: Array(Self.text[..<3]), fromClient: Array(Self.text[..<3]))
        self.bench.loop.closeIdle()
        self.bench.exchange.sweep(.now())
        #expect(self.client.ends.isEmpty)
        self.app.tunnel([0x69] + Self.text)
        #expect(self.client.sentBytes.suffix(8) == (Self.text + Self.goingAway)[...])
        // The client's frame is not complete, so that none of ours can follow it.
        #expect(self.client.ends == [.close] && self.app.sentBytes.count == 3 && self.app.isFinished)
    }

    @Test func aWebSocketEndsInTimeWithinAFrame() throws {
        try self.openTunnel(fromApp: Array(Self.text[..<3]))
        self.bench.loop.closeIdle()
        self.bench.exchange.sweep(.now())
        let sent = self.client.sentBytes.count
        #expect(self.bench.exchange.breakOff())
        #expect(self.client.sentBytes.count == sent && self.client.ends == [.close])
    }

    @Test func nothingFollowsAClosingFrame() throws {
        try self.openTunnel(fromApp: [0x88, 0x00], fromClient: [0x88, 0x80, 1, 2, 3, 4])
        let sent = self.client.sentBytes.count
        self.bench.loop.closeIdle()
        self.bench.exchange.sweep(.now())
        #expect(self.client.sentBytes.count == sent && self.app.sentBytes.count == 6)
        #expect(self.client.ends == [.close] && self.app.isFinished)
    }

    // MARK: Slow apps

    /// The pool knows whether the app is gone, and the time for an answer begins with the connection.
    @Test func aRequestWaitsForAConnectionLongerThanForAnAnswer() throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.exchange.sweep(.now() + .seconds(70))
        #expect(self.client.sent.isEmpty && self.bench.pool.waiters.count == 1)
        self.bench.exchange.sweep(.now() + .seconds(80))
        #expect(self.client.sent.hasPrefix("HTTP/1.1 503 "))
    }

    /// Sweeps each second; returns when the app was given up.
    private func sweep(seconds: Int, _ body: (Int) -> Void = { _ in }) -> Int? {
        let start = NIODeadline.now()
        for second in 0..<seconds {
            self.bench.exchange.sweep(start + .seconds(Int64(second)))
            if self.app.isAbandoned { return second }
            body(second)
        }
        return nil
    }

    @Test func anAppThatTakesAnUploadSlowlyHasTheWriteTimeoutForEachByte() throws {
        self.app.isWritable = false
        self.app.unacknowledgedBytes = 1000
        try self.send(ExchangeBench.request("POST", ["Content-Length: 10"], body: "hello"))
        let end = self.sweep(seconds: 1000) { if $0 % 50 == 0, $0 <= 500 { self.app.unacknowledgedBytes -= 1 } }
        #expect(end == 562 && self.client.sent.hasPrefix("HTTP/1.1 504 "))
    }

    @Test func anAppHasItsTimeFromWhenItHasTheRequest() throws {
        self.app.unacknowledgedBytes = 1000
        try self.send(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        // 50 of the 60 seconds that it has.
        let end = self.sweep(seconds: 600) { second in
            if second % 50 == 0, second <= 400 { self.app.unacknowledgedBytes -= 100 }
        }
        #expect(end == 461 && self.client.sent.hasPrefix("HTTP/1.1 504 "))
    }

    @Test func anAppThatTakesNoneOfTheRequestIsGivenUpInItsTime() throws {
        self.app.unacknowledgedBytes = 1000
        try self.send(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        #expect(self.sweep(seconds: 600).map { $0 <= 62 } == true && self.client.sent.hasPrefix("HTTP/1.1 504 "))
    }

    @Test func theNextRequestUsesTheSameObject() throws {
        for number in 1...3 {
            let app = ScriptedApp()
            self.bench.pool.kept = [app]
            try self.bench.begin(ExchangeBench.request())
            app.send()
            _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(self.client.ends == Array(repeating: .next, count: number))
        }
    }
}
