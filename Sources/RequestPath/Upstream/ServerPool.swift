import NIOCore
import Observability
import Sessions
import Settings
package import Transport
import Vocabulary

/// One loop's connections to one server of an app. The idle ones are a stack, so that the most recently used one is taken
/// first. Where the app has several servers, this is a member of a `ServerGroup`, which has the queue and the limits.
///
/// ```
///   in use ──▶ ending ──▶ idle ──▶ in use        ending: until the loop's turn ends and all sockets have been read
///     └──────────┴─────────┴────▶ closed
/// ```
/// When all are in use and no more may be made, requests wait in a queue, and so do those of a client that has its share
/// of the connections (`ClientShares`). What becomes free in a turn is theirs when the turn ends.
///
/// An app may send more than its answer: two answers, or a body where none is allowed. If such bytes arrive before the
/// next request is sent, the connection is closed, so that the next client does not get them. Connections on which this
/// is likely are used last.
package final class ServerPool: AppPool {
    /// The requests for which a connection is kept.
    enum Owner: Equatable {
        /// All requests.
        case anybody
        /// Requests without a session.
        case nobody
        case session(RecordKey)

        /// Requests of this session; nil: requests without one.
        init(_ session: CachedSession?) {
            self = session.map { .session($0.key) } ?? .nobody
        }
    }

    private(set) var target: UpstreamTarget
    let server: UpstreamServer
    /// The servers of which this is one; nil: the app has no other.
    private(set) var group: ServerGroup?
    /// Its index in the group.
    private(set) var place = 0
    /// What an answer below 500 counts while nothing is held against the server; nil: it may change more.
    var calmIDs: ServerMetricIDs?
    /// The same group, for one question in each turn.
    private var pinnedGroup: Pinned<ServerGroup>?
    /// Both live as long as the process, or until a reload replaces the pool. A reference that does not own is checked,
    /// and counted, at each use.
    let loop: PathLoop
    let transport: TransportLoop
    /// The app's index in the configuration.
    private var index: Int
    /// Whether each connection serves one session only.
    let isStrict: Bool
    /// Whether answers are taken as old servers send them.
    private(set) var isLenient: Bool
    /// The connections there are, and the requests for which one is being made.
    private(set) var open = 0
    /// The connections that are being made, and for whom.
    var connects = PoolConnects()
    private var idle: [UpstreamConnection] = []
    /// Connections that were returned in this turn.
    private var ending: [UpstreamConnection] = []
    /// Whose requests use the connections, and which wait: the group's where there is one.
    private(set) var room: AppRoom
    /// From so many connections on, shares are looked at; never where a group does this.
    private var threshold: Int
    /// Whether it serves the queue. False for what is or was a member of a group.
    private(set) var servesQueue = true
    private var isTurnEndDue = false
    /// The version of the server's addresses that the pool has seen.
    private var addressVersion: UInt32 = 0
    private var isRetired = false

    /// Makes the pools of a loop on this event loop.
    package static func maker(on transport: TransportLoop) -> PathLoop.MakePool {
        { target, index, loop in
            target.isGroup
                ? ServerGroup(target: target, index: index, loop: loop, transport: transport)
                : ServerPool(target: target, index: index, loop: loop, transport: transport)
        }
    }

    /// - Parameters:
    ///   - server: One of the app's; nil: its only one.
    ///   - index: The app's index in the configuration.
    ///   - transport: The event loop of `loop`.
    package convenience init(
        target: UpstreamTarget,
        server: UpstreamServer? = nil,
        index: Int,
        loop: PathLoop,
        transport: TransportLoop
    ) {
        self.init(target: target, server: server, room: nil, index: index, loop: loop, transport: transport)
    }

    /// - Parameter room: That of the group to which it will belong. `nil` if there is none.
    init(
        target: UpstreamTarget,
        server: UpstreamServer?,
        room: AppRoom?,
        index: Int,
        loop: PathLoop,
        transport: TransportLoop
    ) {
        self.target = target
        self.server = server ?? target.first
        self.transport = transport
        self.index = index
        self.isStrict = target.settings.reuse == .strict
        self.isLenient = target.settings.answers == .lenient
        let room = room ?? AppRoom(target, index: index, loop: loop)
        self.threshold = room.threshold
        self.room = room
        self.loop = loop
        self.addressVersion = self.server.currentVersion
    }

    @inline(__always)
    package func takeIdle(for client: any ConnectionWaiter) -> (any AppConnection)? {
        if self.open >= self.threshold, !self.room.admits(client, inFlight: self.inFlight) { return nil }
        return self.takeKept(for: client)
    }

    /// A kept connection that may serve this request, whose client may have another one.
    @inline(__always)
    func takeKept(for client: any ConnectionWaiter) -> UpstreamConnection? {
        guard let connection = self.isStrict ? self.takeOwn(Owner(client.session)) : self.idle.popLast() else {
            return nil
        }
        self.loop.metrics.upstreamConnections(active: 1, idle: -1)
        if self.room.isCounting { connection.seat = self.room.take(for: client) }
        return connection
    }

    private func takeOwn(_ owner: Owner) -> UpstreamConnection? {
        let index = self.idle.lastIndex { $0.owner == owner || $0.owner == .anybody }
        return index.map { self.idle.remove(at: $0) }
    }

    /// Keeps a connection whose exchange ended cleanly or that was not used.
    @inline(__always)
    func giveBack(_ connection: UpstreamConnection) {
        guard !self.isRetired, connection.isUsable else { return connection.close() }
        if let seat = connection.seat.take() { self.room.giveBack(seat) }
        self.awaitTurnEnd()
        self.ending.append(connection)
    }

    @inline(__always)
    func awaitTurnEnd() {
        guard !self.isTurnEndDue else { return }
        self.isTurnEndDue = true
        self.loop.tellTurnEnd(self)
    }

    /// Makes the connections in `ending` idle, because the turn in which they were returned has ended, and serves the
    /// queue.
    package func turnEnded() {
        self.isTurnEndDue = false
        while let connection = self.ending.popLast() {
            if connection.addressVersion != self.addressVersion, !self.isCurrent(connection) {
                connection.close()
                continue
            }
            connection.idleSince = self.loop.now
            if connection.isDoubtful {
                self.idle.insert(consume connection, at: 0)
            } else {
                self.idle.append(consume connection)
            }
            self.loop.metrics.upstreamConnections(active: -1, idle: 1)
        }
        if !self.connects.isEmpty { self.serveAttempts() }
        if let group = self.pinnedGroup, group.use({ $0.isQuiet }) { return }
        if let group = self.group { return group.serveQueue() }
        while self.servesQueue, self.hasRoom, let client = self.room.next() { self.serve(client) }
    }

    /// Removes a connection that has closed.
    func remove(_ connection: UpstreamConnection) {
        if let seat = connection.seat.take() { self.room.giveBack(seat) }
        self.release()
        if let index = self.idle.lastIndex(where: { $0 === connection }) {
            self.idle.remove(at: index)
            self.loop.metrics.upstreamConnections(active: 0, idle: -1)
        } else {
            self.ending.removeAll { $0 === connection }
            self.loop.metrics.upstreamConnections(active: -1, idle: 0)
        }
        if !self.connects.isEmpty {
            self.connects.pace.freed()
            self.awaitTurnEnd()
        }
    }

    /// Counts that the app sent bytes before a request.
    func countUnasked() {
        self.loop.metrics.upstreamUnasked(self.index)
    }

    /// Tells the operator what is wrong with the app, if nothing was told for this reason during the last minute.
    ///
    /// - Parameter field: The name of the field concerned.
    func tell(_ reason: Reason, _ sentence: String, field: () -> String? = { nil }) {
        guard let tell = self.loop.onUpstreamNotice, self.target.mayTell(reason, now: self.loop.now) else { return }
        tell(
            UpstreamNotice(upstream: self.target.settings.name, reason: reason, sentence: sentence, field: field())
        )
    }

    /// Whether the server still has the address to which a connection leads, and its TLS has not been renewed since.
    private func isCurrent(_ connection: UpstreamConnection) -> Bool {
        let addresses = self.server.current
        guard connection.addressVersion >= addresses.oldest, let address = connection.address,
            addresses.all.contains(address)
        else { return false }
        connection.addressVersion = addresses.version
        return true
    }

    /// Closes idle connections to addresses that the server does not have any more. Those in use are closed when their
    /// exchange ends.
    private func followAddresses() {
        let version = self.server.currentVersion
        guard version != self.addressVersion else { return }
        self.addressVersion = version
        for index in self.idle.indices.reversed() where !self.isCurrent(self.idle[index]) { self.closeIdle(at: index) }
    }

    /// Closes connections that have been idle too long, and those to addresses that are gone.
    package func sweep() {
        self.followAddresses()
        let isShort = self.loop.isShortOfFiles
        let limit = isShort ? .nanoseconds(0) : self.loop.configuration.timeouts.upstreamKeepAlive
        for index in self.idle.indices.reversed() where self.loop.now - self.idle[index].idleSince > limit {
            self.closeIdle(at: index)
        }
        if self.servesQueue { self.room.sweep(inFlight: self.inFlight, hasRoom: self.hasRoom) }
    }

    /// Closes the connection that has been idle for the longest.
    func closeOldestIdle() {
        if !self.idle.isEmpty { self.closeIdle(at: 0) }
    }

    private func closeIdle(at index: Int) {
        let connection = self.idle.remove(at: index)
        self.loop.metrics.upstreamConnections(active: 1, idle: -1)
        connection.close()
    }

    // MARK: The limit of connections

    /// Whether a request can have a connection: an idle one, or one more.
    private var hasRoom: Bool { self.open < self.target.settings.maxConnections || !self.idle.isEmpty }

    /// Whether some connection is idle.
    var hasIdle: Bool { !self.idle.isEmpty }

    /// Whether a kept connection may serve this request.
    func hasKept(for client: any ConnectionWaiter) -> Bool {
        guard self.isStrict else { return !self.idle.isEmpty }
        let owner = Owner(client.session)
        return self.idle.contains { $0.owner == owner || $0.owner == .anybody }
    }

    /// Takes the room of one more connection.
    func takeRoom() {
        self.open += 1
        self.group?.opens()
    }

    /// The connections that were returned in this turn.
    var returned: Int { self.ending.count }

    /// The requests that it serves, or for which it connects.
    var inFlight: Int { self.open - self.idle.count - self.ending.count }

    /// Gives back the room of a connection that has closed or could not be made.
    func release() {
        self.open -= 1
        if let group = self.group { return group.released() }
        // Not now: the caller may be in the middle of a change.
        if self.servesQueue, !self.room.isEmpty { self.awaitTurnEnd() }
    }

    /// Gives a connection to a request that has left the queue.
    private func serve(_ client: any ConnectionWaiter) {
        if let connection = self.takeKept(for: client) {
            client.upstreamConnected(connection, isReused: true)
        } else {
            self.makeConnection(for: client)
        }
    }

    package var reports: [ServerReport] { [self.report(isOut: false, ejections: 0)] }

    func report(isOut: Bool, ejections: Int) -> ServerReport {
        ServerReport(
            upstream: self.target.settings.name,
            server: self.server.settings.origin,
            place: self.server.place,
            isOut: isOut,
            inFlight: self.inFlight,
            idle: self.idle.count + self.ending.count,
            ejections: ejections
        )
    }

    package var hasSeveralServers: Bool { false }

    package var isOutgrown: Bool { self.group == nil && self.target.isGroup }

    package func takeRetry() -> Bool { false }

    package func connectAgain(for client: any ConnectionWaiter, after failed: any AppStream) {
        self.connect(for: client)
    }

    package func waiterLeft(_ waiter: any ConnectionWaiter) { self.room.left(waiter) }

    package var isCrowded: Bool { self.room.isCounting }

    package func moved(to index: Int) {
        self.index = index
        if self.servesQueue { self.room.moved(to: index) }
    }

    /// Goes on with other settings of the app.
    package func adopt(_ target: UpstreamTarget, index: Int) -> Bool {
        guard !target.isGroup, self.group == nil, self.goesOn(target, with: target.first) else { return false }
        self.target = target
        self.isLenient = target.settings.answers == .lenient
        self.index = index
        self.room.adopt(target, index: index)
        self.threshold = self.room.threshold
        // Those that wait may have larger shares now, or there are more connections.
        if !self.room.isEmpty { self.awaitTurnEnd() }
        return true
    }

    /// Whether it can go on as the pool of this server.
    func goesOn(_ target: UpstreamTarget, with server: UpstreamServer) -> Bool {
        self.server === server && target.tls === self.target.tls && self.isStrict == (target.settings.reuse == .strict)
    }

    /// Makes it a member of a group, with the settings of that.
    func join(_ group: ServerGroup, at place: Int, _ target: UpstreamTarget, index: Int) {
        self.group = group
        self.room = group.room
        self.threshold = .max
        self.servesQueue = false
        self.pinnedGroup = Pinned(group)
        self.place = place
        self.target = target
        self.isLenient = target.settings.answers == .lenient
        self.index = index
    }

    /// Ends its membership: the group holds it and is held by it.
    func leave() {
        self.group = nil
        self.pinnedGroup = nil
        self.calmIDs = nil
    }

    /// Counts an answer that changes nothing else; false: it may.
    @inline(__always)
    func countsOnly(_ status: Int) -> Bool {
        guard status < 500, let ids = self.calmIDs else { return false }
        self.loop.metrics.serverAnswered(ids, status: status)
        return true
    }

    /// Called when a reload has replaced this pool. Exchanges that have begun end here, and no connection is kept.
    package func retire() {
        self.isRetired = true
        while !self.idle.isEmpty { self.closeIdle(at: self.idle.count - 1) }
        let connections = self.ending
        for connection in connections { connection.close() }
    }

    package func connect(for client: any ConnectionWaiter) {
        // What has become free in this turn is for those that wait.
        guard self.hasRoom, self.room.isEmpty || !self.isTurnEndDue,
            self.open < self.threshold || self.room.admits(client, inFlight: self.inFlight)
        else { return self.room.enqueue(client, returned: self.ending.count) }
        self.makeConnection(for: client)
    }

    /// Connects for `client`. If no more connections may be made, an idle one is closed, which is kept for another session.
    private func makeConnection(for client: any ConnectionWaiter) {
        if self.open >= self.target.settings.maxConnections, !self.idle.isEmpty { self.closeIdle(at: 0) }
        self.makeConnection(for: client, AppRoom.ConnectGoal())
    }
}
