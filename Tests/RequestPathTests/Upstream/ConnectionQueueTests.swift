import NIOCore
import NIOEmbedded
import RequestPath
import Sessions
import Settings
import Testing
import Transport
import Vocabulary

/// A request that waits for a connection and records what it gets.
private final class ScriptedWaiter: ConnectionWaiter {
    var exchangeNumber: UInt64 = 1
    var isConnecting = true
    var isQueued = false
    let session: CachedSession? = nil
    let stickyKey: UInt64 = 0
    let isRepeatable = true
    var failedServers: UInt64 = 0
    private(set) var server: UpstreamServer?
    private(set) var connection: (any AppConnection)?
    private(set) var isReused = false
    private(set) var failure: Reason?

    func upstreamBusy() {
        self.isConnecting = false
        self.isQueued = true
    }

    func upstreamFree() {
        self.isConnecting = true
        self.isQueued = false
    }

    func upstreamChosen(_ server: UpstreamServer) { self.server = server }

    func upstreamConnected(_ connection: any AppConnection, isReused: Bool) {
        self.connection = connection
        self.isReused = isReused
    }

    func upstreamTried(_ server: UpstreamServer) {}
    func upstreamMissed(_ reason: Reason) {}
    func upstreamFailed(_ reason: Reason) { self.failure = reason }
}

@Suite("The queue for connections to an app") struct ConnectionQueueTests {
    private static func waiters(_ count: Int, in queue: inout ConnectionQueue) -> [ScriptedWaiter] {
        (0..<count).map { _ in
            let waiter = ScriptedWaiter()
            queue.append(waiter)
            waiter.upstreamBusy()
            return waiter
        }
    }

    @Test func theOldestIsFirst() {
        var queue = ConnectionQueue()
        let waiters = Self.waiters(3, in: &queue)
        for (index, waiter) in waiters.enumerated() {
            #expect(queue.count == 3 - index)
            let first = queue.popFirst()
            #expect(first === waiter)
        }
        let next = queue.popFirst()
        #expect(queue.isEmpty && next == nil)
    }

    @Test func thoseThatLeftArePassedOver() {
        var queue = ConnectionQueue()
        let waiters = Self.waiters(100, in: &queue)
        for (index, waiter) in waiters.enumerated() where index % 10 != 7 {
            waiter.isQueued = false
            queue.waiterLeft()
        }
        #expect(queue.count == 10)
        for index in 0..<10 {
            let first = queue.popFirst()
            #expect(first === waiters[index * 10 + 7])
        }
        let next = queue.popFirst()
        #expect(queue.isEmpty && next == nil)
    }

    @Test func thePlaceOfAnEarlierExchangeIsNotItsOwn() {
        var queue = ConnectionQueue()
        let waiters = Self.waiters(3, in: &queue)
        // The first leaves and comes again with another request.
        waiters[0].exchangeNumber += 1
        queue.waiterLeft()
        queue.append(waiters[0])
        for index in [1, 2, 0] {
            let first = queue.popFirst()
            #expect(first === waiters[index])
        }
        #expect(queue.isEmpty)
    }

    @Test func thoseThatLeftAreNotKept() {
        var queue = ConnectionQueue()
        weak var left: ScriptedWaiter?
        do {
            let waiter = ScriptedWaiter()
            left = waiter
            queue.append(waiter)
            queue.waiterLeft()
        }
        #expect(left == nil && queue.isEmpty)
    }

    /// A pool that may make no connection of its own.
    @Test func aPoolServesItsQueueAtTheEndOfTheTurn() throws {
        let bench = try ExchangeBench()
        var settings = UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: 9)
        settings.maxConnections = 0
        settings.maxQueue = 2
        let pool = UpstreamPool(
            target: try UpstreamTarget(settings),
            index: 0,
            loop: bench.loop,
            transport: try TransportLoop()
        )
        let stream = ScriptedStream()
        let connection = UpstreamConnection(stream, pool: pool)
        try stream.start(connection)
        bench.pool.kept = [connection]
        try bench.begin(ExchangeBench.request())
        bench.eventLoop.run()

        let waiters = (0..<3).map { _ in ScriptedWaiter() }
        for waiter in waiters { pool.connect(for: waiter) }
        #expect(waiters.map(\.isQueued) == [true, true, false])
        #expect(waiters[2].failure == .gatewayOverloaded)
        waiters[0].isQueued = false
        pool.waiterLeft()

        stream.come("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(bench.client.ends == [.next] && waiters[1].connection == nil)
        #expect(pool.takeIdle(for: waiters[2]) == nil)
        bench.eventLoop.run()
        #expect(waiters[1].connection === connection && waiters[1].isReused && !waiters[1].isQueued)
        #expect(waiters[0].connection == nil && waiters[0].failure == nil)
    }
}
