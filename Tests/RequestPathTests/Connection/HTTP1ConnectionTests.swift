import AddressIntelligence
import NIOCore
import RequestPath
import Settings
import Testing
import Vocabulary

/// An HTTP/1 connection without a socket: bytes in, answers out.
@Suite("An HTTP/1 connection") struct HTTP1ConnectionTests {
    private let bench: ExchangeBench
    private let stream = ScriptedStream()
    private let gate: ConnectionGate
    private let connection: HTTP1Connection
    private let acceptedAt = NIODeadline.now() - .seconds(1)

    init() throws {
        self.bench = try ExchangeBench()
        var limits = LimitSettings()
        limits.connections = 2
        self.gate = ConnectionGate(limits, trusted: [])
        self.connection = HTTP1Connection(
            loop: self.bench.loop,
            stream: self.stream,
            place: try #require(self.gate.accept()),
            acceptedAt: self.acceptedAt
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
        #expect(self.connection.quietSince == self.acceptedAt)
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

    // MARK: The gateway's own answers to requests whose bodies have not come

    /// A proxy that was answered may send the next request on the connection, and never the body that it announced.
    @Test(
        "Our answer waits for the rest of a body, which is no request",
        arguments: [
            (["Content-Length: 20"], "GET / HTTP/1.1\r\n\r\n\r\n"),
            (["Transfer-Encoding: chunked"], "a\r\nGET / HTTP\r\n0\r\n\r\n"),
        ]
    )
    func anAnswerWaitsForTheBody(_ fields: [String], _ body: String) throws {
        for cut in [0, 1, 12, body.count - 1] {
            self.come(ExchangeBench.request("POST", path: "/none", fields, body: String(body.prefix(cut))))
            #expect(self.sent().isEmpty && self.connection.isBusy)
            self.come(String(body.dropFirst(cut)) + Self.unknown)
            let answers = self.sent()
            #expect(self.statuses(answers) == ["404", "404"] && !answers.contains("\r\nConnection:"))
            #expect(!self.connection.isBusy && self.bench.loop.busyCount == 0)
        }
        self.come(ExchangeBench.request("POST", path: "/none", fields, body: body) + Self.unknown)
        #expect(self.statuses(self.sent()) == ["404", "404"])
    }

    private static let announced = ["Content-Length: 100"]

    @Test(
        "A body that does not come is not waited for, and the connection closes behind our answer",
        arguments: [announced, ["Transfer-Encoding: chunked"]],
        [true, false]
    )
    func aBodyThatDoesNotComeEndsTheConnection(_ fields: [String], _ isEnd: Bool) {
        self.come(ExchangeBench.request("POST", path: "/none", fields))
        if isEnd { _ = self.stream.endInput() } else { self.connection.sweep(.now() + .seconds(3)) }
        let answer = self.sent()
        #expect(self.statuses(answer) == ["404"] && answer.contains("\r\nConnection: close\r\n"))
        #expect(answer.contains("route.not_found"))
        #expect(self.stream.hasOutputEnded || !self.stream.isOpen)
        self.come(Self.unknown)
        #expect(self.sent().isEmpty)
    }

    @Test(
        "Our answer comes at once where no other request may follow",
        arguments: [
            ["Content-Length: 65537"], ["Content-Length: 100", "Connection: close"],
            ["Content-Length: 100", "Expect: 100-continue"],
        ]
    )
    func anAnswerThatClosesComesAtOnce(_ fields: [String]) {
        self.come(ExchangeBench.request("POST", path: "/none", fields, body: "a"))
        let answer = self.sent()
        #expect(self.statuses(answer) == ["404"] && answer.contains("\r\nConnection: close\r\n"))
        #expect(self.stream.hasOutputEnded)
    }

    /// Its client may send all of the body before it reads an answer.
    @Test("A body whose first byte is answered is read on, also while an earlier answer waits for the client")
    func aBodyThatIsAnsweredAtOnceIsReadOn() {
        self.bench.pool.refusal = .gatewayOverloaded
        self.stream.heldBytes = 1
        self.come(ExchangeBench.request("POST", ["Content-Length: 65537"], body: "a"))
        #expect(self.statuses(self.sent()) == ["503"] && !self.stream.isPaused)
        self.come(String(repeating: "a", count: 65_536))
        #expect(!self.stream.isPaused && !self.stream.hasOutputEnded)
        self.stream.takesAll()
        #expect(self.stream.hasOutputEnded)
    }

    @Test("A chunked body that turns out to be too large or broken closes the connection", arguments: [true, false])
    func aBodyWithoutEnd(_ isLarge: Bool) {
        self.come(ExchangeBench.request("POST", path: "/none", ["Transfer-Encoding: chunked"]))
        #expect(self.sent().isEmpty)
        self.come(isLarge ? "10001\r\n" + String(repeating: "a", count: 65_537) : "x\r\n")
        let answer = self.sent()
        #expect(self.statuses(answer) == ["404"] && answer.contains("\r\nConnection: close\r\n"))
        #expect(self.stream.hasOutputEnded)
    }

    @Test("Nothing follows an upgrade that we refuse, whose client may send the other protocol")
    func aRefusedUpgradeIsTheLast() {
        self.come(ExchangeBench.upgrade.replacing("/app/x", with: "/none") + Self.unknown)
        let answer = self.sent()
        #expect(self.statuses(answer) == ["404"] && answer.contains("\r\nConnection: close\r\n"))
        #expect(self.stream.hasOutputEnded)
    }

    @Test("A client that leaves while our answer waits is counted once, and so is one that a stopping gateway leaves")
    func anAnswerThatNobodyGets() throws {
        for canBeClient in [true, false] {
            let bench = try ConnectionBench(self.bench)
            bench.stream.come(ExchangeBench.request("POST", path: "/none", Self.announced))
            if canBeClient { bench.stream.end(isClean: false) } else { bench.connection.closeNow() }
            #expect(bench.stream.sent().isEmpty && !bench.stream.isOpen && self.bench.loop.busyCount == 0)
        }
        // An answer that is still to be sent is sent at once, or the gateway would wait for a body that it has refused.
        let bench = try ConnectionBench(self.bench)
        bench.stream.come(ExchangeBench.request("POST", path: "/none", Self.announced))
        self.bench.loop.drain()
        bench.stream.come(String(repeating: "a", count: 100))
        #expect(bench.stream.sent().contains("\r\nConnection: close\r\n"))
    }

    /// An app that fails, or has no connection free, is answered for just as early.
    @Test("Our answer for an app waits for the body, too") func anAnswerForAnApp() {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request("POST", Self.announced, body: "hello"))
        app.send()
        app.end { $0.upstreamFailed(.upstreamReset) }
        #expect(self.sent().isEmpty && app.sent == "hello")
        self.come(String(repeating: "a", count: 95) + Self.unknown)
        let answers = self.sent()
        #expect(self.statuses(answers) == ["502", "404"] && !answers.contains("\r\nConnection:"))
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

    @Test func aStoppingGatewayClosesNothingThatIsBusy() throws {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request())
        app.send()
        #expect(self.bench.loop.closeUnlessBusy() == 1 && self.stream.isOpen)
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(self.statuses(self.sent()) == ["200"])
        #expect(self.bench.loop.closeUnlessBusy() == 0 && !self.stream.isOpen)
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
        app.end { $0.upstreamFailed(.upstreamTruncated) }
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

    // MARK: Slow clients

    private static let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    /// The app's answer to a request, of which the system takes none.
    private func answerSlowly(_ fields: [String] = [], with answer: String = HTTP1ConnectionTests.whole) {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request(fields))
        app.send()
        self.stream.heldBytes = 100_000
        _ = app.answer(answer)
        self.stream.travellingBytes = 1_000_000
    }

    /// Sweeps each second until the stream closes; returns how long that took.
    private func sweep(seconds: Int, _ body: (Int) -> Void = { _ in }) -> Int? {
        let start = NIODeadline.now()
        for second in 0..<seconds {
            self.connection.sweep(start + .seconds(Int64(second)))
            if !self.stream.isOpen { return second }
            body(second)
        }
        return nil
    }

    @Test func theNextRequestWaitsUntilTheAnswerIsSent() {
        self.answerSlowly()
        self.come(Self.unknown)
        #expect(self.statuses(self.sent()) == ["200"] && self.bench.loop.busyCount == 1)
        self.stream.takesAll()
        #expect(self.statuses(self.sent()) == ["404"] && self.bench.loop.busyCount == 0)
    }

    @Test(arguments: [[], ["Connection: close"]])
    func aSlowClientHasTheWriteTimeoutForEachByte(_ fields: [String]) {
        self.answerSlowly(fields)
        #expect(self.sweep(seconds: 600) { if $0 % 50 == 0 { self.stream.travellingBytes -= 1 } } == nil)
        #expect(!self.stream.hasOutputEnded && self.bench.loop.busyCount == 1)
        self.stream.takesAll()
        #expect(self.stream.hasOutputEnded == !fields.isEmpty)
    }

    @Test(arguments: [[], ["Connection: close"]])
    func aClientThatTakesNothingIsResetAlsoWhenTheAppHasEnded(_ fields: [String]) {
        self.answerSlowly(fields)
        #expect(self.sweep(seconds: 600) == 61)
        #expect(self.stream.isReset && !self.stream.hasOutputEnded && self.bench.loop.busyCount == 0)
    }

    @Test(arguments: [[], ["Connection: close"]])
    func theEndOfAnAnswerIsSeenWhenTheClientHasIt(_ fields: [String]) {
        self.answerSlowly(fields)
        self.stream.takesAll()
        // The system has it all, and the client takes it.
        let rest = self.sweep(seconds: 600) { _ in
            self.stream.travellingBytes -= min(5000, self.stream.travellingBytes)
        }
        // A kept connection has its idle time first.
        let closing = fields.isEmpty ? 75 : 0
        #expect(rest.map { (202 + closing...204 + closing).contains($0) } == true, "\(String(describing: rest))")
        #expect(!self.stream.isReset && self.stream.hasOutputEnded)
    }

    @Test func theGatewaysOwnAnswersAreSentLikeThis() {
        self.stream.heldBytes = 100
        self.come(Self.unknown + Self.unknown)
        #expect(self.statuses(self.sent()) == ["404"] && self.bench.loop.busyCount == 1)
        #expect(self.sweep(seconds: 600) { if $0 % 50 == 0, $0 <= 300 { self.stream.heldBytes -= 1 } } == 362)
        #expect(self.stream.isReset)
    }

    @Test func bytesBehindTheLastAnswerAreDiscardedWhileItIsSent() {
        self.answerSlowly(["Connection: close"])
        self.stream.pause()
        self.come(Self.unknown + Self.unknown)
        #expect(self.statuses(self.sent()) == ["200"])
        self.stream.takesAll()
        #expect(self.sent().isEmpty && self.stream.hasOutputEnded && !self.stream.isPaused)
    }

    @Test func aStoppingGatewayCutsWhatIsNotSent() {
        self.answerSlowly()
        self.connection.closeNow()
        #expect(self.stream.isReset && self.bench.loop.busyCount == 0)
    }

    // MARK: Clients that send nothing more

    /// What such a client sends in spite of its word would destroy the answer, so each doubt lets it arrive first.
    @Test(
        arguments: [
            ([], "Content-Length: 5\r\n\r\nhello", false, false),
            (["Connection: close"], "Content-Length: 5\r\n\r\nhello", false, true),
            (["Connection: close"], "Content-Length: 5\r\n\r\nhello", true, false),
            (["Connection: close"], "Content-Length: 9000\r\n\r\n" + String(repeating: "a", count: 9000), false, false),
            (["Connection: close"], "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, false),
            (["Connection: close", "Transfer-Encoding: chunked"], "Content-Length: 5\r\n\r\nhello", false, false),
        ] as [([String], String, Bool, Bool)]
    )
    func closesAtOnceBehindAShortAnswerToAClientThatSaysThatItCloses(
        _ fields: [String],
        _ answer: String,
        _ sendsMore: Bool,
        _ atOnce: Bool
    ) {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request(fields) + (sendsMore ? Self.unknown : ""))
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\n" + answer)
        #expect(self.statuses(self.sent()) == ["200"])
        #expect(self.stream.isOpen == !atOnce)
        #expect(self.stream.hasOutputEnded == (!atOnce && !fields.isEmpty))
        #expect(self.bench.loop.busyCount == (atOnce || fields.isEmpty ? 0 : 1))
    }

    @Test func anEndingProcessLetsAnswersArrive() {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request(["Connection: close"]))
        app.send()
        self.bench.loop.drain()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        #expect(self.stream.isOpen && self.stream.hasOutputEnded)
    }

    @Test(arguments: [
        ExchangeBench.request(), ExchangeBench.request(["Connection: close"]),
        ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"),
        ExchangeBench.request("POST", ["Transfer-Encoding: chunked"], body: "1\r\na\r\n0\r\n\r\n"),
        "GET /app/x HTTP/1.0\r\nHost: app.example.com\r\n\r\n",
    ]) func aClientThatEndsItsOutputGetsItsAnswer(_ request: String) throws {
        for isLate in [false, true] {
            let app = ScriptedApp()
            self.bench.pool.kept = [app]
            let bench = try ConnectionBench(self.bench)
            bench.stream.come(request)
            if isLate { app.send() }
            #expect(bench.stream.endInput())
            if !isLate { app.send() }
            _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
            _ = app.goOn("llo")
            #expect(bench.stream.sent().hasSuffix("\r\n\r\nhello"))
            #expect(bench.stream.hasOutputEnded || !bench.stream.isOpen)
        }
    }

    @Test func allItsRequestsAreAnswered() {
        let apps = [ScriptedApp(), ScriptedApp()]
        self.bench.pool.kept = apps
        self.come(Self.unknown + ExchangeBench.request() + Self.unknown + ExchangeBench.request() + "GET / HT")
        #expect(self.stream.endInput() && !self.stream.hasOutputEnded)
        for app in apps.reversed() {
            app.send()
            #expect(!self.stream.hasOutputEnded)
            _ = app.answer(Self.whole)
        }
        #expect(self.statuses(self.sent()) == ["404", "200", "404", "200"] && self.stream.hasOutputEnded)
    }

    @Test(arguments: [
        "GET /", ExchangeBench.request("POST", ["Content-Length: 10"], body: "hello"),
        ExchangeBench.request("POST", ["Transfer-Encoding: chunked"], body: "1\r\na\r\n"),
    ]) func whatCannotBecomeARequestEnds(_ text: String) throws {
        for isLate in [false, true] {
            let app = ScriptedApp()
            self.bench.pool.kept = [app]
            let bench = try ConnectionBench(self.bench)
            bench.stream.come(text)
            if isLate {
                app.send()
                #expect(!bench.stream.endInput())
            } else {
                _ = bench.stream.endInput()
                app.send()
            }
            #expect(!bench.stream.isOpen && (app.headText.isEmpty || app.isAbandoned))
        }
    }

    @Test func aClientThatIsGoneEndsItsRequestAlsoBehindItsEnd() {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request())
        app.send()
        #expect(self.stream.endInput() && !app.isAbandoned)
        self.stream.end(isClean: false)
        #expect(app.isAbandoned && self.bench.loop.busyCount == 0)
    }

    @Test func aReaderOfEventsThatEndsItsOutputHasLeft() {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.request())
        app.send()
        _ = app.answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        #expect(!self.stream.endInput() && app.isAbandoned)
    }

    @Test func theEndOfATunnelReachesTheAppBehindItsBytes() {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.upgrade)
        app.send()
        #expect(app.upgrade(ExchangeBench.upgraded))
        self.come("last words")
        #expect(self.stream.endInput() && app.sent == "last words" && app.hasOutputEnded)
        app.tunnel("goodbye")
        #expect(self.sent().hasSuffix("goodbye") && !self.stream.hasOutputEnded)
        app.end { $0.tunnelEnded() }
        #expect(self.stream.hasOutputEnded)
    }

    @Test func theAppOfATunnelGetsWhatAClientSentThatIsGone() {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.upgrade)
        app.send()
        #expect(app.upgrade(ExchangeBench.upgraded))
        self.come("last words")
        self.stream.end(isClean: false)
        #expect(app.isFinished && !app.isAbandoned && app.sent == "last words")
    }

    @Test(arguments: [0, 100]) func anAppThatDoesNotEndATunnelIsLeft(_ waiting: Int) {
        let app = ScriptedApp()
        self.bench.pool.kept = [app]
        self.come(ExchangeBench.upgrade)
        app.send()
        #expect(app.upgrade(ExchangeBench.upgraded))
        #expect(self.stream.endInput())
        app.unacknowledgedBytes = waiting
        self.connection.sweep(.now() + .seconds(30))
        #expect(!app.isAbandoned)
        self.connection.sweep(.now() + .seconds(200))
        #expect(app.isAbandoned && self.stream.isReset == (waiting > 0))
    }

    @Test func aClientThatLeftIsCountedOnce() {
        self.come(ExchangeBench.request(path: "/none", ["Connection: close"]))
        self.gate.reserve()
        #expect(!self.gate.hasRoom(orWake: nil))
        self.stream.end(isClean: false)
        self.connection.closeNow()
        #expect(self.gate.hasRoom(orWake: nil))
        self.gate.reserve()
        #expect(!self.gate.hasRoom(orWake: nil), "a client that is counted twice makes room for two")
    }
}

/// Another connection to the loop of a bench.
private struct ConnectionBench {
    let stream = ScriptedStream()
    let connection: HTTP1Connection

    init(_ bench: ExchangeBench) throws {
        self.connection = HTTP1Connection(
            loop: bench.loop,
            stream: self.stream,
            place: try #require(ConnectionGate(LimitSettings(), trusted: []).accept()),
            acceptedAt: .now()
        )
        self.connection.open()
    }
}

extension ConnectionGate {
    /// The place of a new client.
    fileprivate func accept() -> Place? {
        self.reserve()
        return self.name(IPAddress(v4: 0xC000_0201), now: .now())
    }
}
