package import AddressIntelligence
import NIOCore
package import Observability
package import Sessions
import Settings
import SignOn
package import Transport
package import Vocabulary

/// The state that one event loop owns: its connections, connection pools, session cache and reused buffers. Used only
/// on its own thread.
package final class PathLoop: TurnEndTask {
    package let eventLoop: any TurnLoop
    /// The configuration in use. A reload replaces it as a whole.
    package private(set) var configuration: PathConfiguration
    /// The current OAuth clients. Replaced by a reload, and when an operator changes a client.
    private(set) var clients: ClientSnapshot
    /// The sessions. `nil` on the loop of a listener that judges no requests to apps.
    package let sessions: LoopSessions?
    let metrics: PathMetrics
    let accessLog: AccessLog?
    /// The tracer. `nil` if nothing is traced.
    let tracer: Tracer?
    // Copied from `tracer`, because nearly all requests need these values.
    let isTraced: Bool
    /// True if requests without a trace begin a trace.
    let beginsTraces: Bool
    let sampler: TraceSampler
    let stage: Stage
    /// The head into which the loop's connections parse. Replaced when an exchange keeps it.
    package private(set) var requestHead: RequestHead
    let responseHead: ResponseHead
    let scratch: PathScratch
    /// The names under wildcard hosts that clients of this loop have requested recently.
    let namedHosts = NamedHostCache()
    /// The memory that a protocol's connections on this loop share. Only the protocol knows its type (`HTTP2Scratch`).
    var protocolScratch: AnyObject?
    /// The time for deadlines, exact to a quarter of a second.
    private(set) var now: NIODeadline
    /// The time of the session store, exact to a quarter of a second.
    private(set) var sessionNow: UnixTime
    /// The machine's time for logs and `Date`, exact to a quarter of a second.
    private(set) var wallNow: UnixTime
    /// The value of `Date` for this second (RFC 9110 6.6.1).
    private(set) var date: [UInt8]
    /// True after SIGTERM. Connections then close after their answers.
    private(set) var isDraining = false
    private(set) var closesIdle = false
    /// True after `onStrayForwarding` was called.
    private(set) var hasNotifiedStrayForwarding = false
    /// Called at most once, for stray forwarding: an untrusted peer has sent a header in which proxies report clients.
    package var onStrayForwarding: ((_ field: String, _ peer: IPAddress) -> Void)?

    /// Called at most once a minute, with a name that no host has, the names of the hosts, and the peer.
    package var onUnknownHost: ((_ name: String, _ known: [String], _ peer: IPAddress) -> Void)?
    private var nextUnknownHost = NIODeadline.uptimeNanoseconds(0)

    /// Called with a notice about the PROXY header of a peer.
    package var onProxyNotice: ((_ notice: ProxyNotice, _ peer: IPAddress) -> Void)?

    /// The gateway's loop on this thread, which counts and reports handshakes and PROXY headers. `nil` if this loop
    /// does so itself.
    package var openings: PathLoop?

    private let handshakes = HandshakeQueue()

    /// Called with a problem of an app, at most once a minute for each reason.
    package var onUpstreamNotice: ((UpstreamNotice) -> Void)?

    /// True for the one loop of the process that runs health checks.
    package var checksServers = false

    /// Called when a server of an app is ejected and when it is used again, once for all loops.
    package var onServerNotice: ((ServerNotice) -> Void)?

    /// Creates the connection pool of an app with this index in the configuration.
    package typealias MakePool = (_ target: UpstreamTarget, _ index: Int, _ loop: PathLoop) -> any AppPool

    /// The interval between two releases of spare memory.
    private static let shrinkPeriod = TimeAmount.seconds(5)

    private let sessionClock: Clock
    private var connections: [any LoopConnection] = []
    private var parting: [(_ now: NIODeadline) -> Bool] = []
    private let makePool: MakePool
    private var pools: [any AppPool] = []
    private var shortOfFilesUntil = NIODeadline.uptimeNanoseconds(0)
    private var spareHeads = Spares<RequestHead>(limit: 64)
    private var spareBuffers = Spares<ByteBuffer>(limit: 256)
    private let requestSeed: UInt64
    private var requestSequence: UInt64 = 0
    /// The number of requests up to the last `shrink`.
    private var requestsBeforeShrink: UInt64 = 0
    private var nextShrink: NIODeadline
    private var sweeper: RepeatedTask?
    /// Connections with bytes that have not been sent yet.
    private let unflushed = Batch<any TurnEndSender>()
    /// Connection pools whose released connections are not reused before this turn ends.
    private let resting = Batch<any TurnEndTask>()
    private let assertions = AssertionRenewals()
    private var isTurnEndDue = false

    /// - Parameters:
    ///   - sessions: The resolver of sessions. `nil` if the configuration has no `judging`.
    ///   - accessLog: The access log. `nil` if none is written.
    ///   - tracer: The tracer. `nil` if nothing is traced.
    ///   - sessionClock: The clock of the session store.
    package init(
        eventLoop: any TurnLoop,
        configuration: PathConfiguration,
        sessions: SessionResolver?,
        shard: MetricsShard,
        accessLog: AccessLog?,
        tracer: Tracer? = nil,
        sessionClock: Clock,
        makePool: @escaping MakePool
    ) {
        self.eventLoop = eventLoop
        self.makePool = makePool
        self.configuration = configuration
        self.clients = configuration.judging?.clients.snapshot ?? .empty
        self.sessions = sessions.map { LoopSessions($0, on: eventLoop, clock: sessionClock) }
        self.metrics = PathMetrics(shard: shard, ids: configuration.metrics)
        self.accessLog = accessLog
        self.tracer = tracer
        self.isTraced = tracer != nil
        self.beginsTraces = tracer?.profile.sampler.beginsTraces == true
        self.sampler = tracer?.profile.sampler ?? TraceSampler(ratio: 0, followsParent: false)
        self.stage = Stage(allocator: ByteBufferAllocator())
        self.requestHead = RequestHead(fieldCount: configuration.limits.fieldCount)
        self.responseHead = ResponseHead(fieldCount: ResponseHead.maxFields)
        self.scratch = PathScratch()
        self.sessionClock = sessionClock
        let now = NIODeadline.now()
        self.now = now
        self.nextShrink = now + Self.shrinkPeriod
        self.sessionNow = sessionClock.now()
        self.wallNow = Clock.system.now()
        self.date = Array(HTTPDate.text(self.wallNow).utf8)
        self.requestSeed = UInt64.random(in: .min ... .max)
        self.pools = self.makePools(configuration)
    }

    /// Starts the regular check of deadlines. Called on the loop.
    package func start() {
        let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
        self.sweeper = self.eventLoop.scheduleRepeatedTask(
            initialDelay: .milliseconds(250),
            delay: .milliseconds(250)
        ) { _ in loop.value.sweep() }
    }

    /// Reads the clocks. Requests use these times until the next call.
    package func readClocks() {
        self.now = .now()
        self.sessionNow = self.sessionClock.now()
        let wall = Clock.system.now()
        if wall.seconds != self.wallNow.seconds { self.date = Array(HTTPDate.text(wall).utf8) }
        self.wallNow = wall
    }

    private func sweep() {
        self.readClocks()
        // Backwards, because the last connection moves to the index of a connection that ends here.
        var index = self.connections.count - 1
        while index >= 0 {
            if index < self.connections.count { self.connections[index].sweep(self.now) }
            index -= 1
        }
        for pool in self.pools { pool.sweep() }
        self.parting.removeAll { $0(self.now) }
        self.flushAccessLog()
        if self.now >= self.nextShrink { self.shrink() }
    }

    /// True while connections to apps are not kept, because the system recently ran out of file descriptors.
    var isShortOfFiles: Bool { self.now < self.shortOfFilesUntil }

    /// Records that the system has run out of file descriptors. For 5 seconds, no idle connection to an app is kept.
    func ranOutOfFiles() {
        self.shortOfFilesUntil = self.now + .seconds(5)
    }

    /// Frees spare heads and buffers after a burst. Keeps at most one head and one buffer per request since the last
    /// call.
    private func shrink() {
        let needed = Int(clamping: self.requestSequence &- self.requestsBeforeShrink)
        self.spareHeads.shrink(to: needed)
        self.spareBuffers.shrink(to: needed)
        self.requestsBeforeShrink = self.requestSequence
        self.nextShrink = self.now + Self.shrinkPeriod
    }

    func notifyStrayForwarding(_ field: String, _ peer: IPAddress) {
        self.hasNotifiedStrayForwarding = true
        self.onStrayForwarding?(field, peer)
    }

    func notifyUnknownHost(_ authority: UnsafeBufferPointer<UInt8>, _ peer: IPAddress) {
        guard self.now >= self.nextUnknownHost, let notify = self.onUnknownHost else { return }
        self.nextUnknownHost = self.now + .seconds(60)
        let known = self.configuration.routes.hosts.map(\.publicURL.authority)
        notify(String(decoding: authority.prefix(100), as: UTF8.self), known, peer)
    }

    /// Counts the result of a client's handshake.
    func handshakeEnded(_ result: HandshakeResult) { (self.openings ?? self).metrics.handshakeEnded(result) }

    /// Begins a handshake and returns true, or queues it for one of the next turns and returns false.
    func begin(_ handshake: any AwaitedHandshake) -> Bool {
        self.awaitTurnEnd()
        return self.handshakes.begin(handshake)
    }

    /// Counts the result of reading a connection's PROXY header.
    func preambleEnded(_ result: ProxyResult, from peer: IPAddress) {
        (self.openings ?? self).metrics.preambleEnded(result)
        switch result {
        case .malformed: self.notify(.malformed, of: peer)
        case .late: self.notify(.late, of: peer)
        case .refused: self.notify(.refused, of: peer)
        case .v1, .v2, .local, .unnamed: break
        }
    }

    func notify(_ notice: ProxyNotice, of peer: IPAddress) { (self.openings ?? self).onProxyNotice?(notice, peer) }

    // MARK: The end of a turn

    /// Sends the written bytes of `connection` at the end of this turn, together with the bytes of other connections.
    /// This keeps the code for judging in the core's instruction cache.
    func flushSoon(_ connection: any TurnEndSender) {
        self.unflushed.append(connection)
        self.awaitTurnEnd()
    }

    /// Calls `pool.turnEnded()` at the end of this turn. Bytes that apps send until then are read before the
    /// connections are reused.
    func callAtTurnEnd(_ pool: any TurnEndTask) {
        self.resting.append(pool)
        self.awaitTurnEnd()
    }

    /// Renews the assertion of a session after the requests of this turn have been sent.
    func renewAssertion(of session: CachedSession, for audience: Audience, by configuration: PathConfiguration) {
        self.assertions.append(session, for: audience, by: configuration)
        self.awaitTurnEnd()
    }

    @inline(__always)
    private func awaitTurnEnd() {
        guard !self.isTurnEndDue else { return }
        self.isTurnEndDue = true
        self.eventLoop.atTurnEnd(self)
    }

    package func turnEnded() {
        self.isTurnEndDue = false
        self.unflushed.drain { $0.send() }
        self.resting.drain { $0.turnEnded() }
        self.assertions.turnEnded(self)
        if self.handshakes.turnEnded() {
            let loop = NIOLoopBound(self, eventLoop: self.eventLoop)
            self.eventLoop.execute { loop.value.goOnWithHandshakes() }
        }
    }

    private func goOnWithHandshakes() {
        self.awaitTurnEnd()
        self.handshakes.goOn()
    }

    // MARK: Connections

    func add(_ connection: any LoopConnection) {
        connection.listIndex = self.connections.count
        self.connections.append(connection)
        self.metrics.connectionOpened()
    }

    /// Replaces `former` by `connection`. `former` leaves the loop.
    func replace(_ former: any LoopConnection, by connection: any LoopConnection) {
        let index = former.listIndex
        guard index >= 0 else { return self.add(connection) }
        former.listIndex = -1
        connection.listIndex = index
        self.connections[index] = connection
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

    /// Closes up to `count` idle connections without unsent bytes, starting with those that have been idle for longest.
    ///
    /// - Parameter time: Only connections that have been idle since before this time are closed.
    /// - Returns: The number of closed connections.
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

    /// Calls `body` with the requests of all connections, as in `LoopConnection.eachRequest`.
    func eachRequest(_ body: (any LoopRequest) -> Void) {
        for connection in self.connections { connection.eachRequest(body) }
    }

    /// The number of busy connections (`LoopConnection.isBusy`) and of connections to apps that still send last bytes.
    package var busyCount: Int {
        self.connections.reduce(self.parting.count) { $0 + ($1.isBusy ? 1 : 0) }
    }

    /// Closes all connections if none is busy. No request can begin between the check and the closing.
    ///
    /// - Returns: The number of busy connections.
    package func closeUnlessBusy() -> Int {
        let count = self.busyCount
        guard count == 0 else { return count }
        let ending = self.connections
        for connection in ending { connection.closeNow() }
        return 0
    }

    /// Keeps a connection to an app until its last bytes are sent. Each sweep calls `hasParted` until it has closed the
    /// connection and returns true.
    func part(_ hasParted: @escaping (_ now: NIODeadline) -> Bool) {
        self.parting.append(hasParted)
    }

    /// From now on, closes each connection after its answer.
    package func drain() {
        self.isDraining = true
    }

    /// Closes idle connections from the next sweep on. Called when new connections are no longer accepted.
    package func closeIdle() {
        self.closesIdle = true
    }

    /// Passes on the access lines and spans of ended requests.
    package func flushAccessLog() {
        self.accessLog?.flushIfNeeded()
        self.tracer?.log.flushIfNeeded()
    }

    /// Closes all connections at once.
    package func closeAll() {
        let ending = self.connections
        for connection in ending { connection.closeNow() }
        for pool in self.pools { pool.retire() }
        self.sweeper?.cancel()
    }

    // MARK: Reload

    /// Applies a new configuration. Exchanges that have begun keep the old configuration. Connections to an app's
    /// server stay open unless the server, its TLS or the app's `reuse` has changed.
    package func adopt(_ configuration: PathConfiguration) {
        self.readClocks()
        let former = self.configuration.targets
        self.configuration = configuration
        self.namedHosts.removeAll()
        self.adoptClients()
        var replaced = self.pools
        self.pools = configuration.targets.enumerated().map { index, target in
            guard let place = former.firstIndex(where: { $0.settings.name == target.settings.name }) else {
                return self.makePool(target, index, self)
            }
            let pool = self.pools[place]
            if former[place] === target {
                pool.moved(to: index)
            } else if !pool.adopt(target, index: index) {
                return self.makePool(target, index, self)
            }
            replaced.removeAll { $0 === pool }
            return pool
        }
        for pool in replaced { pool.retire() }
        self.metrics.adopt(configuration.metrics)
        if self.requestHead.fields.capacity != configuration.limits.fieldCount {
            self.requestHead = RequestHead(fieldCount: configuration.limits.fieldCount)
            self.spareHeads.shrink(to: 0)
        }
    }

    /// Applies the current OAuth clients of the configuration. Waiting requests use them from their next step on.
    package func adoptClients() {
        self.clients = self.configuration.judging?.clients.snapshot ?? .empty
    }

    private func makePools(_ configuration: PathConfiguration) -> [any AppPool] {
        configuration.targets.enumerated().map { self.makePool($1, $0, self) }
    }

    /// This loop's reports on the servers of all apps, in the order of the settings.
    package var serverReports: [ServerReport] { self.pools.flatMap(\.reports) }

    /// Returns the connection pool of an app.
    ///
    /// - Parameter index: The index of the app in `configuration`. Its index in an earlier one may lead to another app.
    func pool(_ index: Int) -> any AppPool { self.pools[index] }

    // MARK: Reused objects

    /// Returns the head that was just parsed, for an exchange that must wait. The loop continues with another head.
    func takeRequestHead() -> RequestHead {
        let taken = self.requestHead
        self.requestHead =
            self.spareHeads.take() ?? RequestHead(fieldCount: self.configuration.limits.fieldCount)
        return taken
    }

    func giveBack(_ head: RequestHead) {
        if head.fields.capacity == self.configuration.limits.fieldCount { self.spareHeads.keep(head) }
    }

    @inline(__always)
    func takeBuffer() -> ByteBuffer {
        var buffer = self.spareBuffers.take() ?? ByteBufferAllocator().buffer(capacity: 2048)
        buffer.clear()
        return buffer
    }

    /// Returns a copy of the next bytes of `buffer` that outlives the current read event.
    @inline(__always)
    func copy(_ buffer: ByteBuffer, count: Int) -> ByteBuffer {
        var copy = self.takeBuffer()
        buffer.withUnsafeReadableBytes { _ = copy.writeBytes(UnsafeRawBufferPointer(rebasing: $0[0..<count])) }
        return copy
    }

    @inline(__always)
    func giveBack(_ buffer: ByteBuffer) {
        if buffer.capacity <= 16_384 { self.spareBuffers.keep(buffer) }
    }

    @inline(__always)
    func nextRequestID() -> RequestID {
        self.requestSequence &+= 1
        return RequestID(seed: self.requestSeed, sequence: self.requestSequence)
    }
}
