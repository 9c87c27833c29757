import NIOCore
import NIOEmbedded
import RequestPath
import Settings
import Testing
import Transport
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// The pool of an app whose servers come and go, without sockets.
@Suite("The servers of an app") struct ServerMembersTests {
    private let bench: ExchangeBench
    private let group: ServerGroup
    private let connection: UpstreamConnection
    private let stream = ScriptedStream()

    init() throws {
        self.bench = try ExchangeBench { $0.upstreams[0].others = [Self.server(10)] }
        (self.group, self.connection) = try self.bench.keep(self.stream)
    }

    private static func server(_ port: Int) -> ServerSettings {
        UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: port).first
    }

    /// The app with other settings. Servers that are the same go on.
    private func target(_ change: (inout UpstreamSettings) -> Void) throws -> UpstreamTarget {
        var settings = self.bench.target.settings
        change(&settings)
        return try UpstreamTarget(settings, keeping: self.bench.target)
    }

    /// Has a request answered, after which its connection is idle.
    private func serve(_ status: Int = 200) throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.eventLoop.run()
        self.stream.come("HTTP/1.1 \(status) A\r\nContent-Length: 0\r\n\r\n")
        self.bench.eventLoop.run()
    }

    /// Makes another connection to the first server.
    ///
    /// - Parameter isServed: Whether it has served a request and is idle.
    private func another(isServed: Bool) throws -> (connection: UpstreamConnection, stream: ScriptedStream) {
        let stream = ScriptedStream()
        let connection = UpstreamConnection(stream, pool: self.group.members[0].pool)
        try stream.start(connection)
        guard isServed else { return (connection, stream) }
        try self.send(on: connection)
        // A connection whose last answer had no content would be used last.
        stream.come("HTTP/1.1 200 A\r\nContent-Length: 1\r\n\r\na")
        self.bench.eventLoop.run()
        return (connection, stream)
    }

    private func send(_ request: String = ExchangeBench.request(), on free: any FreeStream) throws {
        self.bench.pool.kept = [free]
        try self.bench.begin(request)
        self.bench.eventLoop.run()
    }

    /// Has so many requests answered on the connection, one after the other.
    private func serve(_ status: Int, times count: Int) throws {
        for _ in 0..<count {
            if self.bench.pool.kept.isEmpty {
                self.bench.pool.kept = [try #require(self.group.takeStream(for: ScriptedWaiter()))]
            }
            try self.serve(status)
        }
    }

    @Test func anOnlyServerIsNeitherChosenNorLeftOut() throws {
        try self.serve(503, times: 20)
        #expect(self.group.reports.map(\.isOut) == [false] && !self.group.hasSeveralServers)
        // No other connection may be made.
        #expect(self.group.adopt(try self.target { $0.maxConnections = 0 }, index: 0))
        let waiter = ScriptedWaiter()
        #expect(self.group.takeStream(for: waiter) === self.connection)
        self.group.awaitStream(for: waiter, after: self.connection)
        #expect(waiter.isQueued && waiter.server == nil && waiter.failedServers == 0)
    }

    @Test func aServerKeepsItsConnectionsWhenOthersComeAndGo() throws {
        try self.serve()
        #expect(self.group.adopt(try self.target { $0.others = [Self.server(10)] }, index: 0))
        #expect(self.group.hasSeveralServers && self.group.reports.map(\.idle) == [1, 0] && self.stream.isOpen)
        #expect(self.group.adopt(try self.target { _ in }, index: 0))
        #expect(!self.group.hasSeveralServers && self.group.reports.map(\.idle) == [1] && self.stream.isOpen)
        let waiter = ScriptedWaiter()
        #expect(self.group.takeStream(for: waiter) === self.connection && waiter.server == nil)
    }

    @Test func aStreamIsInUseUntilItsRequestOrItsConnectionEnds() throws {
        func inUse() -> Int { self.group.reports[0].inFlight }
        try self.serve()
        let before = inUse()
        try self.serve(200, times: 3)
        #expect(inUse() == before)
        self.bench.pool.kept = [try #require(self.group.takeStream(for: ScriptedWaiter()))]
        #expect(inUse() == before + 1 && self.group.takeStream(for: ScriptedWaiter()) == nil)
        try self.bench.begin(ExchangeBench.request())
        self.bench.eventLoop.run()
        #expect(inUse() == before + 1)
        self.stream.end()
        #expect(inUse() == before)
    }

    @Test func oneOfSeveralServersIsChosen() throws {
        try self.serve()
        #expect(
            self.group.adopt(try self.target { ($0.others, $0.balance) = ([Self.server(10)], .roundRobin) }, index: 0)
        )
        let waiters = (0..<2).map { _ in ScriptedWaiter() }
        let taken = waiters.map { self.group.takeStream(for: $0) }
        #expect(taken.contains { $0 === self.connection } && taken.contains { $0 == nil })
        #expect(Set(waiters.compactMap { $0.server?.settings.port }) == [9, 10])
    }

    /// `timeouts.upstream_keep_alive` is longer than the test.
    @Test(arguments: [
        ("timeout=0", false), ("max=9, Timeout=0", false), ("timeout=9", true), ("timeout=", true), ("max=0", true),
        ("timeout=999999999999999999", true), ("timeout=x", true),
    ]) func anIdleConnectionClosesBeforeTheAppClosesIt(_ keepAlive: String, _ isKept: Bool) throws {
        try self.bench.begin(ExchangeBench.request())
        self.bench.eventLoop.run()
        self.stream.come("HTTP/1.1 200 A\r\nContent-Length: 0\r\nKeep-Alive: \(keepAlive)\r\n\r\n")
        self.bench.eventLoop.run()
        #expect(self.group.reports.map(\.idle) == [1])
        self.bench.loop.readClocks()
        self.group.sweep()
        #expect(self.stream.isOpen == isKept && self.group.reports.map(\.idle) == [isKept ? 1 : 0])
    }

    /// Has a request sent on the connection, after another one if it is to be reused, and answered with 408.
    private func time(out method: String, with field: String, isReused: Bool) throws {
        if isReused {
            try self.serve()
            self.bench.pool.kept = [try #require(self.group.takeStream(for: ScriptedWaiter()))]
        }
        self.bench.pool.retriesLeft = 1
        try self.bench.begin(ExchangeBench.request(method))
        self.bench.eventLoop.run()
        self.stream.come("HTTP/1.1 408 A\r\n\(field)\r\nContent-Length: 0\r\n\r\n")
    }

    /// RFC 9110 15.5.9.
    @Test func aRequestThatMeetsTheEndOfAnIdleConnectionIsSentOnAnother() throws {
        try self.time(out: "GET", with: "Connection: close", isReused: true)
        let second = ScriptedApp()
        #expect(self.bench.pool.connects(second) && second.headText.hasPrefix("GET /app/x HTTP/1.1\r\n"))
        #expect(!self.stream.isOpen && !self.bench.client.sent.contains(" 408 ") && self.bench.pool.retriesLeft == 0)
    }

    @Test(arguments: [
        ("GET", "Connection: close", false), ("POST", "Connection: close", true), ("GET", "X: y", true),
    ]) func anotherAnswer408IsPassedOn(_ method: String, _ field: String, _ isReused: Bool) throws {
        try self.time(out: method, with: field, isReused: isReused)
        #expect(self.bench.client.sent.contains("HTTP/1.1 408 A\r\n") && self.bench.pool.waiters.isEmpty)
        #expect(self.bench.pool.retriesLeft == 1)
    }

    @Test func connectionsThatHaveBeenIdleForLongerThanAClosedOneAreNotUsed() throws {
        try self.serve()
        let second = try self.another(isServed: true)
        #expect(self.group.reports.map(\.idle) == [2])
        let begun = NIODeadline.now()
        while NIODeadline.now() - begun <= ServerPool.staleTime { usleep(50_000) }
        self.bench.loop.readClocks()
        let taken = try #require(self.group.takeStream(for: ScriptedWaiter()))
        #expect(taken === second.connection)
        try self.send(on: taken)
        #expect(self.stream.isOpen && self.group.reports.map(\.idle) == [1])
        second.stream.end(isClean: false)
        #expect(!self.stream.isOpen && self.group.reports.map(\.idle) == [0])
    }

    /// The server may only have closed an idle connection.
    @Test(arguments: [true, false]) func reusedConnectionsThatEndUnansweredEjectNoServer(_ isReused: Bool) throws {
        #expect(self.group.adopt(try self.target { $0.others = [Self.server(10)] }, index: 0))
        for (connection, stream) in try (0..<5).map({ _ in try self.another(isServed: isReused) }) {
            try self.send(ExchangeBench.request("POST"), on: connection)
            stream.end(isClean: false)
        }
        #expect(self.group.reports.map(\.isOut) == [!isReused, false])
    }

    @Test(arguments: [
        ("Content-Length: 4\r\n\r\nbusy", true), ("Transfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n0\r\n\r\n", true),
        ("Content-Length: 5\r\n\r\nbusy", false), ("Connection: close\r\n\r\nbusy", false),
    ]) func aWholeAnswerIsPassedOnIfTheOtherServerDoesNotAnswer(_ rest: String, _ isWhole: Bool) throws {
        let target = try self.target { ($0.others, $0.retryOn) = ([Self.server(10)], [503]) }
        #expect(self.group.adopt(target, index: 0))
        self.bench.pool.retriesLeft = 2
        try self.send(on: self.connection)
        self.stream.come("HTTP/1.1 503 A\r\nRetry-After: 7\r\n\(rest)")
        #expect(self.bench.client.sent.isEmpty && !self.stream.isOpen)
        self.bench.pool.fails(.upstreamUnreachable, at: nil)
        let sent = self.bench.client.sent
        #expect(sent.hasPrefix(isWhole ? "HTTP/1.1 503 A\r\n" : "HTTP/1.1 502 "))
        #expect(sent.contains("Retry-After: 7\r\n") == isWhole && sent.contains("busy") == isWhole)
        #expect(self.bench.client.ends == [.next])
        // The client's next request gets nothing of it.
        let app = ScriptedApp()
        try self.send(on: app)
        app.end { $0.upstreamFailed(.upstreamReset) }
        self.bench.pool.fails(.upstreamUnreachable, at: nil)
        let next = self.bench.client.sent.dropFirst(sent.count)
        #expect(next.hasPrefix("HTTP/1.1 502 ") && !next.contains("busy"))
    }

    @Test func aServerThatIsGoneKeepsNoConnection() throws {
        try self.serve()
        #expect(self.group.adopt(try self.target { $0.first = Self.server(11) }, index: 0))
        #expect(self.group.reports.map(\.idle) == [0] && !self.stream.isOpen)
    }

    @Test func aServerThatIsLeftOutServesWhenItIsTheOnlyOne() throws {
        #expect(self.group.adopt(try self.target { $0.others = [Self.server(10)] }, index: 0))
        try self.serve(503, times: 10)
        #expect(self.group.reports.map(\.isOut) == [true, false])
        #expect(self.group.adopt(try self.target { _ in }, index: 0))
        #expect(self.group.reports.map(\.isOut) == [false])
        #expect(self.group.takeStream(for: ScriptedWaiter()) === self.connection)
    }

    @Test func anAppWhoseConnectionsAreKeptOtherwiseNeedsAnotherPool() throws {
        try self.serve()
        #expect(!self.group.adopt(try self.target { $0.reuse = .strict }, index: 0))
        self.group.retire()
        #expect(!self.stream.isOpen)
    }
}
