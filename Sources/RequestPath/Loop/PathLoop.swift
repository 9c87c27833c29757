package import AddressIntelligence
package import NIOCore
import NIOPosix
package import Observability
package import Sessions
import Settings
package import Vocabulary

/// Everything that one event loop owns: its connections, its pools, its cache, and the buffers that it uses again and
/// again. Nothing in it is touched by another thread.
package final class PathLoop {
    package let eventLoop: any EventLoop
    /// Swapped whole by a reload.
    package private(set) var configuration: PathConfiguration
    package let sessions: SessionResolver
    let streamSessions: StreamSessions
    let metrics: PathMetrics
    let accessLog: AccessLog?
    let stage: Stage
    private(set) var requestHead: RequestHead
    let responseHead: ResponseHead
    let scratch: PathScratch
    /// Exact to a quarter of a second: for deadlines.
    private(set) var now: NIODeadline
    /// Exact to a quarter of a second: for the lifetimes of sessions, by the clock of their store.
    private(set) var sessionNow: UnixTime
    /// Exact to a quarter of a second: the machine's time, for logs and `Date`.
    private(set) var wallNow: UnixTime
    /// `Date` of this second (RFC 9110 6.6.1).
    private(set) var date: String
    /// SIGTERM has come: connections are not kept.
    private(set) var isDraining = false
    private(set) var closesIdle = false
    /// A peer that is not believed sent a field by which proxies name their clients, and it was told.
    private(set) var hasToldStrayForwarding = false
    /// Called once at most, with the field's name and the peer.
    package var onStrayForwarding: ((_ field: String, _ peer: IPAddress) -> Void)?

    /// Makes the pool of an app, which has this place in the configuration.
    package typealias MakePool = (_ target: UpstreamTarget, _ index: Int, _ loop: PathLoop) -> any AppPool

    private let sessionClock: Clock
    private var connections: [any LoopConnection] = []
    private let makePool: MakePool
    private var pools: [any AppPool] = []
    private var spareHeads: [RequestHead] = []
    private var spareBuffers: [ByteBuffer] = []
    private let requestSeed: UInt64
    private var requestSequence: UInt64 = 0
    private var sweeper: RepeatedTask?
    /// Connections to apps with a head that has not left yet.
    private let unflushed = Batch<any TurnEndSender>()
    /// Pools with connections that rest until this turn ends.
    private let resting = Batch<any AppPool>()
    private var isTurnEndDue = false

    /// - Parameters:
    ///   - accessLog: nil: none is written.
    ///   - sessionClock: The clock of the session store.
    package init(
        eventLoop: any EventLoop,
        configuration: PathConfiguration,
        sessions: SessionResolver,
        shard: MetricsShard,
        accessLog: AccessLog?,
        sessionClock: Clock,
        makePool: @escaping MakePool
    ) {
        self.eventLoop = eventLoop
        self.makePool = makePool
        self.configuration = configuration
        self.sessions = sessions
        self.streamSessions = StreamSessions(loop: eventLoop, resolver: sessions, clock: sessionClock)
        self.metrics = PathMetrics(shard: shard, ids: configuration.metrics)
        self.accessLog = accessLog
        self.stage = Stage(allocator: ByteBufferAllocator())
        self.requestHead = RequestHead(fieldCount: configuration.limits.fieldCount)
        self.responseHead = ResponseHead(fieldCount: 200)
        self.scratch = PathScratch()
        self.sessionClock = sessionClock
        self.now = .now()
        self.sessionNow = sessionClock.now()
        self.wallNow = Clock.system.now()
        self.date = HTTPDate.text(self.wallNow)
        self.requestSeed = UInt64.random(in: .min ... .max)
        self.pools = self.makePools(configuration)
        self.sessions.cache.onInvalidation = { [unowned self] endings in self.ended(endings) }
        self.streamSessions.onGone = { [unowned self] key in self.ended(Endings([.session(key)])) }
        self.streamSessions.onUnreadable = { [unowned self] key in
            let session = Endings([.session(key)])
            for connection in self.connections.filter({ $0.isEnded(by: session) }) { connection.sessionUnreadable() }
        }
    }

    /// Starts the sweep of deadlines; on the loop.
    package func start() {
        let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.sweeper = self.eventLoop.scheduleRepeatedTask(
            initialDelay: .milliseconds(250),
            delay: .milliseconds(250)
        ) { _ in loop.value.sweep() }
    }

    private func sweep() {
        self.now = .now()
        self.sessionNow = self.sessionClock.now()
        let wall = Clock.system.now()
        if wall.seconds != self.wallNow.seconds { self.date = HTTPDate.text(wall) }
        self.wallNow = wall
        // Backwards, because a connection that ends here gives its place to the last one.
        var index = self.connections.count - 1
        while index >= 0 {
            if index < self.connections.count { self.connections[index].sweep(self.now) }
            index -= 1
        }
        for pool in self.pools { pool.sweep() }
        self.flushAccessLog()
    }

    func tellStrayForwarding(_ field: String, _ peer: IPAddress) {
        self.hasToldStrayForwarding = true
        self.onStrayForwarding?(field, peer)
    }

    // MARK: The end of a turn

    /// Lets the head that was written to `connection` leave at the end of this turn, with those of the other requests: the
    /// system's sending and our judging would push each other out of the core's instruction cache with every request.
    func flushSoon(_ connection: any TurnEndSender) {
        self.unflushed.append(connection)
        self.awaitTurnEnd()
    }

    /// Tells `pool` when this turn has ended: what its connections sent meanwhile is read before they are used again.
    func tellTurnEnd(_ pool: any AppPool) {
        self.resting.append(pool)
        self.awaitTurnEnd()
    }

    @inline(__always)
    private func awaitTurnEnd() {
        guard !self.isTurnEndDue else { return }
        self.isTurnEndDue = true
        let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.eventLoop.execute { loop.value.endTurn() }
    }

    private func endTurn() {
        self.isTurnEndDue = false
        self.unflushed.drain { $0.send() }
        self.resting.drain { $0.turnEnded() }
    }

    // MARK: Connections

    var connectionCount: Int { self.connections.count }

    func add(_ connection: any LoopConnection) {
        connection.listIndex = self.connections.count
        self.connections.append(connection)
        self.metrics.connectionOpened()
    }

    func remove(_ connection: any LoopConnection) {
        let index = connection.listIndex
        guard index >= 0, let last = self.connections.popLast() else { return }
        connection.listIndex = -1
        if last !== connection {
            self.connections[index] = last
            last.listIndex = index
        }
        self.metrics.connectionClosed()
    }

    private func ended(_ endings: Endings) {
        // `.all` is nobody's session: the next sweep has the sessions of streams asked for again.
        // A copy: an end takes its connection out of the list.
        let ending = self.connections.filter { $0.isEnded(by: endings) }
        for connection in ending { connection.sessionEnded() }
    }

    /// Closes up to `count` connections that carry nothing, those first that have been so for the longest.
    ///
    /// - Parameter time: who was let in later stays, as there is no other reason why they are here.
    /// - Returns: how many were closed.
    func closeLongestIdle(_ count: Int, admittedBefore time: NIODeadline) -> Int {
        var quiet: [(since: NIODeadline, connection: any LoopConnection)] = []
        for connection in self.connections {
            if let since = connection.quietSince, since < time { quiet.append((since, connection)) }
        }
        quiet.sort { $0.since < $1.since }
        var closed = 0
        for entry in quiet where closed < count && entry.connection.unsentBytes == 0 {
            closed += 1
            self.metrics.connectionEvicted()
            entry.connection.closeNow()
        }
        return closed
    }

    /// The connections that carry something: a request that has begun, or an answer that the client has not read yet.
    package var busyCount: Int {
        self.connections.reduce(0) { $0 + ($1.isBusy ? 1 : 0) }
    }

    /// From now on every answer is the last of its connection.
    package func drain() {
        self.isDraining = true
    }

    /// No new connections come any more: idle ones close at the next sweep.
    package func closeIdle() {
        self.closesIdle = true
    }

    /// Hands the lines of the requests that have ended to the log's writer.
    package func flushAccessLog() {
        self.accessLog?.flushIfNeeded()
    }

    /// Ends everything at once.
    package func closeAll() {
        let ending = self.connections
        for connection in ending { connection.closeNow() }
        for pool in self.pools { pool.retire() }
        self.sweeper?.cancel()
    }

    // MARK: Reload

    /// Takes a new configuration; exchanges under way end with the route they were judged by.
    package func adopt(_ configuration: PathConfiguration) {
        self.configuration = configuration
        for pool in self.pools { pool.retire() }
        self.pools = self.makePools(configuration)
        self.metrics.adopt(configuration.metrics)
        if self.requestHead.fields.capacity != configuration.limits.fieldCount {
            self.requestHead = RequestHead(fieldCount: configuration.limits.fieldCount)
            self.spareHeads = []
        }
    }

    private func makePools(_ configuration: PathConfiguration) -> [any AppPool] {
        configuration.targets.enumerated().map { self.makePool($1, $0, self) }
    }

    func pool(_ index: Int) -> any AppPool { self.pools[index] }

    // MARK: What is used again

    /// The head just parsed, for an exchange that has to wait with it; the loop goes on with another.
    func takeRequestHead() -> RequestHead {
        let taken = self.requestHead
        self.requestHead =
            self.spareHeads.popLast() ?? RequestHead(fieldCount: self.configuration.limits.fieldCount)
        return taken
    }

    func giveBack(_ head: RequestHead) {
        if self.spareHeads.count < 64, head.fields.capacity == self.configuration.limits.fieldCount {
            self.spareHeads.append(head)
        }
    }

    @inline(__always)
    func takeBuffer() -> ByteBuffer {
        var buffer = self.spareBuffers.popLast() ?? ByteBufferAllocator().buffer(capacity: 2048)
        buffer.clear()
        return buffer
    }

    @inline(__always)
    func giveBack(_ buffer: ByteBuffer) {
        if self.spareBuffers.count < 256, buffer.capacity <= 16_384 { self.spareBuffers.append(buffer) }
    }

    @inline(__always)
    func nextRequestID() -> RequestID {
        self.requestSequence &+= 1
        return RequestID(seed: self.requestSeed, sequence: self.requestSequence)
    }
}
