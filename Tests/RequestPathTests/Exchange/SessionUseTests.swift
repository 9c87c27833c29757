import NIOCore
import NIOEmbedded
import RequestPath
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// Which traffic of a running request is a use of its session. Uses of this session are noted once a minute at most.
@Suite("A running request uses its session") struct SessionUseTests {
    /// What a test passes on, and whether it is a use.
    enum Traffic: CaseIterable {
        case download, upload, event, partOfAnEvent, comment, framing, frameOfTheApp, frameOfTheClient, partOfAFrame
        case ping, pong, close, slowReading, slowApp, nothing

        var isUse: Bool {
            switch self {
            case .download, .upload, .event, .partOfAnEvent, .frameOfTheApp, .frameOfTheClient, .partOfAFrame,
                .slowReading, .slowApp:
                true
            case .comment, .framing, .ping, .pong, .close, .nothing: false
            }
        }
    }

    /// A request that runs, with a session of a quarter of an hour.
    private final class Running {
        let clock = MovableClock()
        let bench: ExchangeBench
        let app = ScriptedApp()
        let key: RecordKey
        private let token: String

        init(_ change: (inout Settings) -> Void = { _ in }) throws {
            self.bench = try ExchangeBench(clock: self.clock.clock) { settings in
                settings.hosts[0].routes = [route("/app/**", .required)]
                change(&settings)
            }
            let (token, key) = try self.bench.signIn("ada")
            self.key = key
            self.token = "Authorization: Bearer \(String(decoding: token.bytes, as: UTF8.self))"
            let sessions = self.bench.resolver
            _ = token.bytes.withUnsafeBytes { sessions.resolve(.native, token: $0, now: self.clock.now) }
            self.bench.eventLoop.run()
            self.bench.loop.start()
            self.bench.pool.kept = [self.app]
        }

        /// Begins the request with which this traffic is possible.
        func begin(_ traffic: Traffic) throws {
            switch traffic {
            case .upload, .slowApp:
                if traffic == .slowApp { (self.app.isWritable, self.app.unacknowledgedBytes) = (false, 1000) }
                try self.send(ExchangeBench.request("POST", [self.token, "Content-Length: 100"], body: "a"))
            case .frameOfTheApp, .frameOfTheClient, .partOfAFrame, .ping, .pong, .close:
                let fields = self.token + "\r\nSec-WebSocket-Key"
                try self.send(ExchangeBench.upgrade.replacing("Sec-WebSocket-Key", with: fields))
                try #require(self.app.upgrade(ExchangeBench.upgraded))
                self.app.tunnel([0x82, 0x7E, 0x01, 0x00])
                if traffic != .partOfAFrame { self.app.tunnel([UInt8](repeating: 0x61, count: 256)) }
            case .event, .partOfAnEvent, .comment:
                try self.send(ExchangeBench.request([self.token]))
                _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1")
                if traffic != .partOfAnEvent { _ = self.app.goOn("\n\n") }
            case .download, .framing, .slowReading, .nothing:
                try self.send(ExchangeBench.request([self.token]))
                if traffic == .slowReading {
                    (self.bench.client.isWritable, self.bench.client.unacknowledgedBytes) = (false, 1000)
                }
                _ = self.app.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
            }
            try #require(self.bench.client.ends.isEmpty)
            self.sweep()
        }

        private func send(_ request: String) throws {
            try self.bench.begin(request)
            self.bench.eventLoop.run()
            self.app.send()
        }

        func pass(_ traffic: Traffic) {
            switch traffic {
            case .download: _ = self.app.goOn("1\r\na\r\n")
            case .upload:
                self.bench.client.input = ByteBuffer(string: "a")
                self.bench.client.passBody()
            case .event: _ = self.app.goOn(": a\ndata: 2\n\n")
            case .partOfAnEvent: _ = self.app.goOn("2")
            case .comment: _ = self.app.goOn(": ping\n\n")
            case .framing: _ = self.app.goOn("1")
            case .frameOfTheApp: self.app.tunnel([0x81, 0x01, 0x61])
            case .frameOfTheClient: self.come([0x81, 0x81, 1, 2, 3, 4, 0x61])
            case .partOfAFrame: self.app.tunnel([0x61])
            case .ping:
                self.app.tunnel([0x89, 0x01, 0x61])
                self.come([0x89, 0x80, 1, 2, 3, 4])
            case .pong: self.come([0x8A, 0x81, 1, 2, 3, 4, 0x61])
            case .close: self.come([0x88, 0x80, 1, 2, 3, 4])
            case .slowReading: self.bench.client.unacknowledgedBytes -= 1
            case .slowApp: self.app.unacknowledgedBytes -= 1
            case .nothing: break
            }
        }

        private func come(_ bytes: [UInt8]) { self.bench.exchange.tunnelToUpstream(ByteBuffer(bytes: bytes)) }

        /// Moves the sessions' time.
        func wait(_ seconds: Int) {
            self.clock.advance(by: .seconds(seconds))
        }

        func sweep() {
            self.bench.eventLoop.advanceTime(by: .milliseconds(250))
            self.bench.exchange.sweep(.now())
            self.bench.eventLoop.run()
        }

        /// When the session was last used, in seconds before now; nil: it has ended.
        func unused() throws -> Int? {
            let stored = try self.bench.store.session(self.key, on: self.bench.eventLoop).wait()
            return stored.map { Int(self.clock.now.since($0.usedAt ?? $0.record.issuedAt).components.seconds) }
        }
    }

    @Test(arguments: Traffic.allCases) func contentIsAUseAndItsPackagingIsNone(_ traffic: Traffic) throws {
        let running = try Running()
        try running.begin(traffic)
        running.wait(61)
        // What came before the minute was over does not count later.
        running.sweep()
        #expect(try running.unused() == 61)
        running.pass(traffic)
        running.sweep()
        #expect(try running.unused() == (traffic.isUse ? 0 : 61))
        #expect(running.bench.client.ends.isEmpty)
    }

    @Test(arguments: Traffic.allCases) func nothingIsIfOnlyRequestsCount(_ traffic: Traffic) throws {
        let running = try Running { $0.session.idleCounts = .requests }
        try running.begin(traffic)
        running.wait(61)
        running.pass(traffic)
        running.sweep()
        #expect(try running.unused() == 61)
    }

    @Test func aUseIsNotedOnceAMinute() throws {
        let running = try Running()
        try running.begin(.download)
        var noted = 0
        for _ in 0..<600 {
            running.wait(1)
            running.pass(.download)
            running.sweep()
            if try running.unused() == 0 { noted += 1 }
        }
        #expect(noted == 10 && running.bench.client.ends.isEmpty)
    }

    @Test func trafficKeepsASessionToItsLongestLifetimeAndNotBeyond() throws {
        let running = try Running()
        try running.begin(.download)
        for minute in 1..<60 {
            running.wait(60)
            running.pass(.download)
            running.sweep()
            #expect(try running.unused() != nil, "minute \(minute)")
        }
        #expect(running.bench.client.ends.isEmpty)
        running.wait(60)
        running.pass(.download)
        running.sweep()
        #expect(try running.unused() == nil)
        #expect(running.bench.client.ends == [.aborted])
    }

    @Test func aSessionThatWasNotUsedInTimeIsNotBroughtBack() throws {
        let running = try Running()
        try running.begin(.download)
        running.wait(901)
        running.pass(.download)
        running.sweep()
        #expect(try running.unused() == nil)
    }

    @Test func theEndOfARequestThatLastedIsAUse() throws {
        let running = try Running()
        try running.begin(.download)
        running.wait(61)
        running.bench.eventLoop.advanceTime(by: .milliseconds(250))
        _ = running.app.goOn("1\r\na\r\n0\r\n\r\n")
        #expect(running.bench.client.ends == [.next])
        #expect(try running.unused() == 0)
    }
}
