import NIOCore
import RequestPath
import Testing

/// The state machine of a connection, without I/O.
@Suite("The state of an HTTP/1 connection") struct HTTP1StateTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    /// A connection that has just opened.
    private final class Life {
        private(set) var state = HTTP1State(now: HTTP1StateTests.start, deadline: HTTP1StateTests.start + .seconds(10))

        func headComes(_ text: String, at now: NIODeadline = HTTP1StateTests.start) -> Bool {
            self.state.headComes(ByteBuffer(string: text), longestLine: 100, now: now, limit: .seconds(10))
        }

        func headIsUnfinished(_ count: Int) { self.state.headIsUnfinished(count) }

        func begin(keepsAlive: Bool = true, limit: Int = 100, isDraining: Bool = false) -> Bool {
            _ = self.headComes("GET")
            return self.state.requestBegins(keepsAlive: keepsAlive, limit: limit, isDraining: isDraining)
        }

        func end(_ end: AnswerEnd) -> HTTP1State.NextStep {
            self.state.answerEnded(end, now: HTTP1StateTests.start, idle: .seconds(75))
        }

        func drains(_ body: BodyDecoder) { self.state.drains(body, now: HTTP1StateTests.start) }

        func drainsNoMore() { self.state.drainsNoMore() }

        func drain(_ text: String, limit: Int = 100) -> (progress: BodyProgress, rest: String) {
            var buffer = ByteBuffer(string: text)
            let progress = self.state.drain(&buffer, limit: limit)
            return (progress, String(buffer: buffer))
        }

        /// The number of bytes that the client has not acknowledged.
        var waiting = 0

        func sweep(_ now: NIODeadline, closesIdle: Bool = false) -> HTTP1State.SweepAction {
            self.state.sweep(
                now,
                closesIdle: closesIdle,
                idle: .seconds(75),
                write: .seconds(60),
                unacknowledged: { self.waiting }
            )
        }

        /// The result of sweeps every quarter of a second until something is to be done, and when.
        func sweepOn(from start: NIODeadline, _ take: (Life) -> Void = { _ in }) -> (HTTP1State.SweepAction, Int64) {
            for step in 0..<4000 {
                let time = TimeAmount.milliseconds(Int64(step) * 250)
                let action = self.sweep(start + time)
                if action != .none { return (action, time.nanoseconds / 1_000_000_000) }
                take(self)
            }
            return (.none, .max)
        }

        func upgraded() { self.state.upgraded() }
        func linger() -> Bool { self.state.linger() }
        func closed() -> Bool { self.state.closed() }
    }

    private let life = Life()

    // MARK: Heads

    @Test func aHeadIsParsedWhenALineHasCome() {
        #expect(self.life.headComes("GET /"))
        self.life.headIsUnfinished(5)
        #expect(!self.life.headComes("GET / HT"))
        #expect(self.life.headComes("GET / HTTP/1.1\r\n"))
        self.life.headIsUnfinished(16)
        #expect(!self.life.headComes("GET / HTTP/1.1\r\nHost"))
        // Only new bytes are searched.
        #expect(self.life.headComes("GET / HTTP/1.1\r\nHost: a\r\n"))
    }

    @Test func aLineThatMayBeTooLongIsParsed() {
        #expect(self.life.headComes("G"))
        self.life.headIsUnfinished(1)
        #expect(!self.life.headComes(String(repeating: "G", count: 99)))
        #expect(self.life.headComes(String(repeating: "G", count: 100)))
    }

    @Test func aLongHeadIsNotParsedWithEachByte() {
        #expect(self.life.headComes(String(repeating: "G", count: 100)))
        self.life.headIsUnfinished(100)
        #expect(!self.life.headComes(String(repeating: "G", count: 1123)))
        #expect(self.life.headComes(String(repeating: "G", count: 1124)))
    }

    @Test func aHeadHasItsTimeFromItsFirstByte() {
        let later = Self.start + .seconds(8)
        #expect(self.life.state.quietSince == Self.start)
        #expect(self.life.sweep(later, closesIdle: false) == .none)
        #expect(self.life.headComes("G", at: later))
        #expect(self.life.state.quietSince == later)
        #expect(self.life.headComes("GE", at: later + .seconds(9)))
        #expect(self.life.sweep(later + .seconds(9), closesIdle: true) == .none)
        #expect(self.life.sweep(later + .seconds(10), closesIdle: false) == .refuseHead)
    }

    @Test func aHeadIsNotOlderThanItsConnection() {
        _ = self.life.headComes("G", at: Self.start - .milliseconds(250))
        #expect(self.life.state.quietSince == Self.start)
    }

    @Test func aSilentConnectionCloses() {
        #expect(self.life.sweep(Self.start + .seconds(10), closesIdle: false) == .linger)
    }

    @Test func aNewConnectionIsKeptForItsFirstRequestWhileIdleOnesClose() {
        #expect(self.life.state.awaitsFirstRequest(Self.start + .milliseconds(999)))
        #expect(self.life.sweep(Self.start + .milliseconds(999), closesIdle: true) == .none)
        #expect(!self.life.state.awaitsFirstRequest(Self.start + .seconds(1)))
        #expect(self.life.sweep(Self.start + .seconds(1), closesIdle: true) == .linger)
    }

    @Test func aConnectionThatHasServedClosesWithTheIdleOnes() {
        _ = self.life.begin()
        _ = self.life.end(.next)
        #expect(!self.life.state.awaitsFirstRequest(Self.start))
        #expect(self.life.sweep(Self.start, closesIdle: true) == .linger)
    }

    // MARK: Keeping the connection

    @Test(arguments: [
        (true, 100, false, true), (false, 100, false, false), (true, 1, false, false), (true, 2, false, true),
        (true, 100, true, false),
    ])
    func anotherRequestMayFollow(_ keepsAlive: Bool, _ limit: Int, _ isDraining: Bool, _ may: Bool) {
        #expect(self.life.begin(keepsAlive: keepsAlive, limit: limit, isDraining: isDraining) == may)
    }

    @Test func theLastRequestIsCounted() {
        #expect(self.life.begin(limit: 3))
        #expect(self.life.end(.next) == .readOn)
        #expect(self.life.begin(limit: 3))
        #expect(self.life.end(.next) == .readOn)
        #expect(!self.life.begin(limit: 3))
        #expect(self.life.state.requestCount == 3)
    }

    @Test func isKeptIdleForAWhile() {
        _ = self.life.begin()
        #expect(self.life.state.isInExchange && self.life.state.quietSince == nil)
        #expect(self.life.sweep(Self.start + .hours(9), closesIdle: true) == .sweepExchange)
        #expect(self.life.end(.next) == .readOn)
        #expect(self.life.state.isIdle)
        #expect(self.life.sweep(Self.start + .seconds(74), closesIdle: false) == .none)
        #expect(self.life.sweep(Self.start + .seconds(75), closesIdle: false) == .linger)
    }

    @Test func anAnswerEndsOnce() {
        #expect(self.life.end(.next) == .none)
        _ = self.life.begin()
        #expect(self.life.end(.close) == .linger)
        #expect(self.life.linger())
        #expect(self.life.end(.next) == .none && self.life.state.ignoresInput)
    }

    @Test func nothingIsReadBehindAnAnswerWithWhichTheClientCloses() {
        _ = self.life.begin()
        #expect(self.life.end(.closeAtOnce) == .close)
        #expect(self.life.state.ignoresInput && !self.life.state.isClosed && self.life.closed())
    }

    // MARK: The rest of a body

    @Test func anAnswerWaitsForTheRestOfASmallBody() {
        _ = self.life.begin()
        self.life.drains(BodyDecoder(.length(10)))
        #expect(self.life.drain("01234").progress == .more)
        #expect(self.life.state.isInExchange && self.life.state.quietSince == nil)
        #expect(self.life.end(.next) == .none, "the answer has not been sent")
        #expect(self.life.drain("56789GET /") == (.end, "GET /"))
        #expect(self.life.state.isInExchange)
        #expect(self.life.end(.next) == .readOn && self.life.state.isIdle)
    }

    @Test(arguments: ["zz\r\n", "65\r\n" + String(repeating: "a", count: 101)])
    func aBodyThatIsBrokenOrTooLargeIsNotWaitedFor(_ text: String) {
        _ = self.life.begin()
        self.life.drains(BodyDecoder(.chunked))
        #expect(self.life.drain(text).progress == .malformed)
        #expect(self.life.state.isInExchange && self.life.end(.close) == .linger)
    }

    @Test func onlyTheRestOfABodyCounts() {
        _ = self.life.begin()
        var body = BodyDecoder(.length(300))
        var bytes = ByteBuffer(string: String(repeating: "a", count: 200))
        #expect(body.discard(&bytes) == .more)
        self.life.drains(body)
        #expect(self.life.drain(String(repeating: "a", count: 100)).progress == .end)
    }

    @Test func aBodyThatDoesNotComeIsWaitedForTwoSeconds() {
        _ = self.life.begin()
        self.life.drains(BodyDecoder(.length(10)))
        #expect(self.life.sweep(Self.start + .milliseconds(1999), closesIdle: true) == .none)
        #expect(self.life.sweep(Self.start + .seconds(2), closesIdle: false) == .answer)
        self.life.drainsNoMore()
        #expect(self.life.state.isInExchange && self.life.end(.close) == .linger)
    }

    // MARK: The end

    @Test func lingersOnceAndForAMoment() {
        #expect(self.life.linger())
        #expect(!self.life.linger())
        #expect(self.life.sweepOn(from: Self.start) == (.close, 2))
    }

    @Test func lingersAsLongAsAClientTakesBytes() {
        #expect(self.life.linger())
        self.life.waiting = 1000
        // A byte each quarter of a second, and then two seconds.
        #expect(self.life.sweepOn(from: Self.start) { $0.waiting -= $0.waiting > 0 ? 1 : 0 } == (.close, 252))
    }

    @Test func aClientThatTakesNothingMoreSeesNoCleanEnd() {
        #expect(self.life.linger())
        self.life.waiting = 1000
        #expect(self.life.sweepOn(from: Self.start) { if $0.waiting > 900 { $0.waiting -= 1 } } == (.reset, 85))
    }

    @Test func idleTimeBeginsWhenTheClientHasTheAnswer() {
        _ = self.life.begin()
        _ = self.life.end(.next)
        self.life.waiting = 1000
        #expect(self.life.sweepOn(from: Self.start) { $0.waiting -= $0.waiting > 0 ? 1 : 0 } == (.linger, 325))
    }

    @Test func anIdleClientThatTakesNothingIsReset() {
        _ = self.life.begin()
        _ = self.life.end(.next)
        self.life.waiting = 1000
        #expect(self.life.sweepOn(from: Self.start) == (.reset, 135))
    }

    @Test func closesOnce() {
        _ = self.life.begin()
        #expect(self.life.closed())
        #expect(!self.life.closed() && !self.life.linger())
        self.life.upgraded()
        #expect(self.life.state.isClosed && self.life.end(.next) == .none)
        #expect(self.life.sweep(Self.start + .hours(9), closesIdle: true) == .none)
    }

    @Test func aTunnelEndsWithTheConnection() {
        self.life.upgraded()
        #expect(!self.life.state.isTunnel)
        _ = self.life.begin()
        self.life.upgraded()
        #expect(self.life.state.isTunnel && !self.life.state.isInExchange)
        #expect(self.life.sweep(Self.start, closesIdle: true) == .sweepExchange)
        #expect(self.life.end(.close) == .linger)
    }

    // MARK: Reading

    @Test func aReadThatWasHeldBackIsMadeUpFor() {
        var gate = ReadGate()
        #expect(gate.read() && !gate.resume())
        gate.pause()
        #expect(!gate.read() && gate.isPaused)
        #expect(gate.resume() && !gate.isPaused)
        gate.pause()
        #expect(!gate.resume() && gate.read())
    }
}
