import NIOCore
import RequestPath
import Settings
import Testing
import Vocabulary

/// A request for which no connection to the app is free.
@Suite("A queued exchange") struct QueuedExchangeTests {
    private let bench: ExchangeBench
    private let app = ScriptedApp()

    init() throws {
        self.bench = try ExchangeBench { settings in
            settings.timeouts.queue = .seconds(600)
            settings.timeouts.response = .seconds(60)
        }
        self.bench.pool.isBusy = true
    }

    private var client: ScriptedClient { self.bench.client }
    private var isRefused: Bool {
        self.client.sent.hasPrefix("HTTP/1.1 503 ") && self.client.sent.contains("\r\nretry-after: ")
    }

    @Test func isSentWhenItsTurnComes() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        #expect(self.client.sent.isEmpty && self.bench.pool.queuedCount == 1)
        #expect(self.bench.pool.connects(self.app, isReused: true))
        #expect(self.app.headText.hasPrefix("POST /app/x HTTP/1.1\r\n") && self.app.sent.isEmpty)
        self.app.send()
        #expect(self.app.sent == "hello")
        _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(self.client.ends == [.next] && self.bench.pool.queuedCount == 0)
    }

    @Test func theAppHasItsTimeFromTheConnectionOn() throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.exchange.sweep(.now() + .seconds(300))
        #expect(self.client.sent.isEmpty)
        #expect(self.bench.pool.connects(self.app))
        self.app.send()
        self.bench.exchange.sweep(.now() + .seconds(30))
        #expect(self.client.sent.isEmpty)
        self.bench.exchange.sweep(.now() + .seconds(120))
        #expect(self.client.sent.hasPrefix("HTTP/1.1 504 "))
    }

    @Test func isRefusedAtItsDeadline() throws {
        try self.bench.begin(ExchangeBench.request("POST", ["Content-Length: 5"], body: "hello"))
        self.bench.exchange.sweep(.now() + .seconds(700))
        #expect(self.isRefused && self.client.ends == [.body] && self.bench.pool.queuedCount == 0)
        #expect(!self.bench.pool.connects(self.app))
    }

    @Test func leavesTheQueueWithItsClient() throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.exchange.clientLeft()
        #expect(self.bench.pool.queuedCount == 0 && !self.bench.pool.connects(self.app))
        #expect(self.client.sent.isEmpty && self.client.ends.isEmpty)
    }

    @Test func leavesTheQueueOfAGatewayThatStops() throws {
        try self.bench.begin(ExchangeBench.request())
        #expect(!self.bench.exchange.breakOff() && self.bench.pool.queuedCount == 0)
        self.bench.exchange.clientLeft()
        #expect(self.bench.pool.queuedCount == 0 && self.client.sent.isEmpty)
    }

    @Test func isNotSentForASessionThatHasEnded() throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.exchange.sessionEnded()
        #expect(self.isRefused && self.bench.pool.queuedCount == 0 && !self.bench.pool.connects(self.app))
    }

    @Test func isRepeatedOnceAtMost() throws {
        try self.bench.begin(ExchangeBench.request())
        #expect(self.bench.pool.connects(self.app, isReused: true))
        self.app.send()
        self.app.end { $0.upstreamFailed(.upstreamReset) }
        #expect(self.client.sent.isEmpty && self.bench.pool.queuedCount == 1)
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second, isReused: true))
        second.send()
        second.end { $0.upstreamFailed(.upstreamReset) }
        #expect(self.client.sent.hasPrefix("HTTP/1.1 502 ") && self.bench.pool.queuedCount == 0)
    }
}
