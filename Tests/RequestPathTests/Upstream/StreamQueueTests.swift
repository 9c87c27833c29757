import AddressIntelligence
import NIOCore
import NIOEmbedded
import RequestPath
import Sessions
import Settings
import Testing
import Transport
import Vocabulary

/// A request that waits for a stream and records what it gets.
final class ScriptedWaiter: StreamWaiter {
    var exchangeNumber: UInt64 = 1
    var isConnecting = true
    var isQueued = false
    let session: CachedSession? = nil
    let requester: Requester
    let stickyKey: UInt64 = 0
    let isRepeatable = true
    var failedServers: UInt64 = 0
    private(set) var server: UpstreamServer?
    private(set) var stream: (any FreeStream)?
    private(set) var isReused = false
    private(set) var failure: Reason?

    init(_ client: Int = 1, session: UInt64? = nil) {
        self.requester = Requester(address: IPAddress("192.0.2.\(client)").map { AddressKey(of: $0) }, session: session)
    }

    func upstreamBusy() {
        self.isConnecting = false
        self.isQueued = true
    }

    func upstreamFree() {
        self.isConnecting = true
        self.isQueued = false
    }

    func upstreamChosen(_ server: UpstreamServer) { self.server = server }

    func upstreamReady(_ free: any FreeStream, isReused: Bool) {
        self.stream = free
        self.isReused = isReused
    }

    func upstreamTried(_ server: UpstreamServer) {}
    func upstreamMissed(_ reason: Reason) {}
    func upstreamFailed(_ reason: Reason) { self.failure = reason }
}

@Suite("The queue for streams to an app") struct StreamQueueTests {
    /// Everybody may have another stream.
    private static let shares = ClientShares(ShareRule(of: 8))

    private static func waiters(_ count: Int, in queue: inout StreamQueue) -> [ScriptedWaiter] {
        (0..<count).map { _ in
            let waiter = ScriptedWaiter()
            queue.append(waiter, now: .uptimeNanoseconds(0))
            waiter.upstreamBusy()
            return waiter
        }
    }

    @Test func theOldestIsFirst() {
        var queue = StreamQueue()
        let waiters = Self.waiters(3, in: &queue)
        for (index, waiter) in waiters.enumerated() {
            #expect(queue.count == 3 - index)
            let first = queue.popFirst(by: Self.shares)
            #expect(first === waiter)
        }
        let next = queue.popFirst(by: Self.shares)
        #expect(queue.isEmpty && next == nil)
    }

    @Test func thoseThatLeftArePassedOver() {
        var queue = StreamQueue()
        let waiters = Self.waiters(100, in: &queue)
        for (index, waiter) in waiters.enumerated() where index % 10 != 7 {
            waiter.isQueued = false
            queue.left(waiter)
        }
        #expect(queue.count == 10)
        for index in 0..<10 {
            let first = queue.popFirst(by: Self.shares)
            #expect(first === waiters[index * 10 + 7])
        }
        let next = queue.popFirst(by: Self.shares)
        #expect(queue.isEmpty && next == nil)
    }

    @Test func thePlaceOfAnEarlierExchangeIsNotItsOwn() {
        var queue = StreamQueue()
        let waiters = Self.waiters(3, in: &queue)
        // The first leaves and comes again with another request.
        waiters[0].exchangeNumber += 1
        queue.left(waiters[0])
        queue.append(waiters[0], now: .uptimeNanoseconds(0))
        for index in [1, 2, 0] {
            let first = queue.popFirst(by: Self.shares)
            #expect(first === waiters[index])
        }
        #expect(queue.isEmpty)
    }

    @Test func thoseThatLeftAreNotKept() {
        var queue = StreamQueue()
        weak var left: ScriptedWaiter?
        do {
            let waiter = ScriptedWaiter()
            left = waiter
            queue.append(waiter, now: .uptimeNanoseconds(0))
            queue.left(waiter)
        }
        #expect(left == nil && queue.isEmpty)
    }

    @Test func thoseThatHaveWaitedTooLongAreRemovedTogether() {
        func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }
        var queue = StreamQueue()
        let waiters = [1, 2, 1, 2, 3].map { ScriptedWaiter($0) }
        for (second, waiter) in waiters.enumerated() {
            queue.append(waiter, now: at(Int64(second)))
            waiter.upstreamBusy()
        }
        waiters[0].upstreamFree()
        queue.left(waiters[0])
        let removed = queue.removeAll(since: at(3))
        #expect(removed.count == 2 && removed.contains { $0 === waiters[1] } && removed.contains { $0 === waiters[2] })
        #expect(queue.count == 2 && Self.order(&queue, waiters, by: Self.shares) == [3, 4] && queue.isEmpty)
    }

    // MARK: Clients

    /// Has these clients wait, each for one request.
    private static func queue(_ clients: [Int], session: UInt64? = nil) -> (StreamQueue, [ScriptedWaiter]) {
        var queue = StreamQueue()
        let waiters = clients.map { client in
            let waiter = ScriptedWaiter(client, session: session)
            queue.append(waiter, now: .uptimeNanoseconds(0))
            waiter.upstreamBusy()
            return waiter
        }
        return (queue, waiters)
    }

    /// The indices of the waiters in the order in which they are served.
    private static func order(
        _ queue: inout StreamQueue,
        _ waiters: [ScriptedWaiter],
        by shares: ClientShares
    ) -> [Int] {
        var order: [Int] = []
        while let next = queue.popFirst(by: shares) {
            order += waiters.indices.filter { waiters[$0] === next }
        }
        return order
    }

    @Test func clientsTakeTurns() {
        var (queue, waiters) = Self.queue([1, 1, 1, 1, 2, 3, 2])
        #expect(Self.order(&queue, waiters, by: Self.shares) == [0, 4, 5, 1, 6, 2, 3])
        #expect(queue.isEmpty)
    }

    @Test func aClientWithItsShareIsPassedOver() {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        let first = ScriptedWaiter(1)
        let seats = (0..<2).map { _ in shares.take(first.requester) }
        var (queue, waiters) = Self.queue([1, 1, 2])
        #expect(queue.waiting(by: shares) == (1, 0))
        #expect(Self.order(&queue, waiters, by: shares) == [2])
        #expect(queue.count == 2)
        for seat in seats { if let seat { shares.giveBack(seat) } }
        #expect(Self.order(&queue, waiters, by: shares) == [0, 1] && queue.isEmpty)
    }

    @Test func aUserAtAnAddressWithItsShareIsServedBeforeItsStrangers() {
        var shares = ClientShares(ShareRule(of: 32))
        shares.begin()
        let seats = (0..<16).map { _ in shares.take(ScriptedWaiter(1).requester) }
        var queue = StreamQueue()
        let waiters = [nil, nil, 7, nil, 7].map { ScriptedWaiter(1, session: $0) }
        for waiter in waiters {
            queue.append(waiter, now: .uptimeNanoseconds(0))
            waiter.upstreamBusy()
        }
        #expect(queue.waiting(by: shares).count == 2)
        #expect(queue.waitingForOwn(by: shares) == [waiters[0].requester.client: 5])
        #expect(Self.order(&queue, waiters, by: shares) == [2, 4] && queue.count == 3)
        #expect(queue.waitingForOwn(by: shares) == [waiters[0].requester.client: 3])
        for seat in seats { if let seat { shares.giveBack(seat) } }
        #expect(queue.waitingForOwn(by: shares).isEmpty)
        #expect(Self.order(&queue, waiters, by: shares) == [0, 1, 3] && queue.isEmpty)
    }

    @Test func thoseWhoseSessionHasItsShareEndNothingOfTheirAddress() {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        for _ in 0..<2 { _ = shares.take(ScriptedWaiter(1, session: 7).requester) }
        let (queue, waiters) = Self.queue([1, 1], session: 7)
        #expect(queue.waitingForOwn(by: shares).isEmpty && waiters.count == 2)
    }

    @Test func aSessionWithItsShareDelaysNoOtherOfItsAddress() {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        for client in 2...3 { _ = shares.take(ScriptedWaiter(client, session: 7).requester) }
        var queue = StreamQueue()
        let waiters = [7, 7, 8].map { ScriptedWaiter(1, session: $0) }
        for waiter in waiters {
            queue.append(waiter, now: .uptimeNanoseconds(0))
            waiter.upstreamBusy()
        }
        #expect(Self.order(&queue, waiters, by: shares) == [2] && queue.count == 2)
    }

    /// Nobody's stream would be theirs, so nobody's request ends for them.
    @Test func thoseOfASessionWithItsShareDoNotCountAsWaiting() {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        let seats = (2...3).map { shares.take(ScriptedWaiter($0, session: 7).requester) }
        let (queue, _) = Self.queue([1, 4, 5], session: 7)
        #expect(queue.waiting(by: shares).count == 0)
        for seat in seats { if let seat { shares.giveBack(seat) } }
        #expect(queue.waiting(by: shares) == (3, 0))
    }

    @Test func thoseThatWereHeldForTheirSessionKeepTheirOrder() {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        let seats = (2...3).map { shares.take(ScriptedWaiter($0, session: 7).requester) }
        var queue = StreamQueue()
        let waiters = [7, 8, 7, nil, 7, 7].map { ScriptedWaiter(1, session: $0) }
        for waiter in waiters {
            queue.append(waiter, now: .uptimeNanoseconds(0))
            waiter.upstreamBusy()
        }
        #expect(Self.order(&queue, waiters, by: shares) == [1, 3] && queue.count == 4)
        #expect(queue.waiting(by: shares).count == 0)
        #expect(queue.popLast(for: ScriptedWaiter(2).requester) === waiters[5])
        waiters[2].isQueued = false
        queue.left(waiters[2])
        for seat in seats { if let seat { shares.giveBack(seat) } }
        #expect(Self.order(&queue, waiters, by: shares) == [0, 4] && queue.isEmpty)
    }

    @Test func theNewestOfTheClientWithMostMakesRoom() {
        var (queue, waiters) = Self.queue([1, 1, 1, 2, 2])
        // Another request of the first client would only take its own place.
        #expect(queue.popLast(for: waiters[0].requester) == nil)
        let third = ScriptedWaiter(3)
        #expect(queue.popLast(for: third.requester) === waiters[2] && queue.count == 4)
        waiters[2].isQueued = false
        let second = queue.popLast(for: third.requester)
        #expect(second === waiters[1] || second === waiters[4])
        (second as? ScriptedWaiter)?.isQueued = false
        let last = queue.popLast(for: third.requester)
        #expect(last != nil && queue.count == 2)
        (last as? ScriptedWaiter)?.isQueued = false
        // Each has one.
        #expect(queue.popLast(for: third.requester) == nil)
        #expect(Self.order(&queue, waiters, by: Self.shares) == [0, 3] && queue.isEmpty)
    }

    @Test(arguments: 1...10)
    func whoeverComesAndGoesNobodyIsLeftBehind(seed: UInt64) {
        var state = seed
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }
        func requester() -> ScriptedWaiter { ScriptedWaiter(random(6), session: [nil, 7, 8][random(3)]) }
        var crowded = ClientShares(ShareRule(of: 4))
        crowded.begin()
        for client in 7...8 { _ = crowded.take(ScriptedWaiter(client, session: 7).requester) }
        var queue = StreamQueue()
        var waiting: [ScriptedWaiter] = []
        for _ in 0..<3000 {
            switch random(5) {
            case 0, 1, 2:
                let waiter = requester()
                queue.append(waiter, now: .uptimeNanoseconds(0))
                waiter.upstreamBusy()
                waiting.append(waiter)
            case 3 where !waiting.isEmpty:
                let waiter = waiting.remove(at: random(waiting.count))
                waiter.isQueued = false
                queue.left(waiter)
            default:
                let kind = random(3)
                let next =
                    switch kind {
                    case 0: queue.popLast(for: requester().requester)
                    case 1: queue.popFirst(by: crowded)
                    default: queue.popFirst(by: Self.shares)
                    }
                if kind == 1 { #expect(next?.requester.session != 7) }
                (next as? ScriptedWaiter)?.isQueued = false
                waiting.removeAll { $0 === next }
            }
            #expect(queue.count == waiting.count && queue.isEmpty == waiting.isEmpty)
        }
        while let next = queue.popFirst(by: Self.shares) { waiting.removeAll { $0 === next } }
        #expect(queue.isEmpty && waiting.isEmpty)
    }

    /// A pool that may make no connection of its own.
    @Test func aPoolServesItsQueueAtTheEndOfTheTurn() throws {
        let bench = try ExchangeBench()
        var settings = UpstreamSettings(name: "app", isHTTPS: false, host: "127.0.0.1", port: 9)
        settings.maxConnections = 0
        settings.maxQueue = 2
        let stream = ScriptedStream()
        let (pool, connection) = try bench.keep(stream, to: try UpstreamTarget(settings))
        try bench.begin(ExchangeBench.request())
        bench.eventLoop.run()

        let waiters = (0..<3).map { _ in ScriptedWaiter() }
        for waiter in waiters { pool.awaitStream(for: waiter) }
        #expect(waiters.map(\.isQueued) == [true, true, false])
        #expect(waiters[2].failure == .gatewayOverloaded)
        waiters[0].isQueued = false
        pool.waiterLeft(waiters[0])

        stream.come("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(bench.client.ends == [.next] && waiters[1].stream == nil)
        #expect(pool.takeStream(for: waiters[2]) == nil)
        bench.eventLoop.run()
        #expect(waiters[1].stream === connection && waiters[1].isReused && !waiters[1].isQueued)
        #expect(waiters[0].stream == nil && waiters[0].failure == nil)
        #expect(pool.reports.map(\.idle) == [0])
    }
}
