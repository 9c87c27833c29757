import NIOCore
import NIOEmbedded
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

/// A permitted request whose session ends before its answer does.
@Suite("An exchange whose session ends") struct EndedSessionTests {
    private let bench: ExchangeBench
    private let app = ScriptedApp()
    private let key: RecordKey
    private let token: String

    init() throws {
        self.bench = try ExchangeBench { $0.hosts[0].routes = [route("/app/**", .required)] }
        let (token, key) = try self.bench.signIn("ada")
        self.key = key
        self.token = String(decoding: token.bytes, as: UTF8.self)
        // The cache knows the session, so that the request does not wait for it.
        let now = Clock.system.now()
        let sessions = self.bench.resolver
        _ = token.bytes.withUnsafeBytes { sessions.resolve(.native, token: $0, now: now) }
        self.bench.eventLoop.run()
    }

    private var client: ScriptedClient { self.bench.client }

    private func begin() throws {
        try self.bench.begin(ExchangeBench.request("GET", ["Authorization: Bearer \(self.token)"]))
        self.bench.eventLoop.run()
    }

    private func beginStream() throws {
        self.bench.pool.kept = [self.app]
        try self.begin()
        self.app.send()
        _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
        try #require(self.client.ends.isEmpty && self.client.sent.hasSuffix("ab"))
    }

    private func end(_ key: RecordKey? = nil) { self.bench.resolver.cache.invalidate(.session(key ?? self.key)) }

    @Test func breaksOffAtTheNextSweepIfItHasJustBegun() throws {
        try self.beginStream()
        self.end()
        self.bench.exchange.sweep(.now())
        #expect(self.client.ends == [.aborted] && self.app.isAbandoned)
    }

    @Test func breaksOffAtOnceIfItHasLasted() throws {
        try self.beginStream()
        self.bench.exchange.sweep(.now())
        #expect(self.client.ends.isEmpty)
        self.end(try self.bench.signIn("ada").key)
        #expect(self.client.ends.isEmpty, "another session of the user")
        self.end()
        #expect(self.client.ends == [.aborted])
    }

    @Test func isFoundNoMoreWhenItIsOver() throws {
        try self.beginStream()
        self.bench.exchange.sweep(.now())
        _ = self.app.goOn("cdefghij")
        #expect(self.client.ends == [.next] && self.bench.exchange.holderPlace < 0)
        self.end()
        #expect(self.client.ends == [.next])
    }

    @Test func isEndedAtTheSweepAfterItsAnswerBegins() throws {
        self.bench.pool.kept = [self.app]
        try self.begin()
        self.app.send()
        self.bench.exchange.sweep(.now())
        self.end()
        #expect(self.client.ends.isEmpty, "the app is at work")
        _ = self.app.answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
        self.bench.exchange.sweep(.now())
        #expect(self.client.ends == [.aborted])
    }

    @Test(arguments: [false, true])
    func isNotSentIfItWaitsForAConnection(hasLeftTheCache: Bool) throws {
        try self.begin()
        if hasLeftTheCache { self.bench.resolver.cache.invalidate(.sessionRecord(self.key)) }
        self.end()
        #expect(self.bench.pool.connects(self.app))
        #expect(self.app.headText.isEmpty && self.app.isClosed)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 503 "))
    }

    @Test func isRefusedAtOnceIfItIsQueued() throws {
        self.bench.pool.isBusy = true
        try self.begin()
        self.end()
        #expect(self.client.sent.hasPrefix("HTTP/1.1 503 ") && self.bench.pool.queuedCount == 0)
    }
}
