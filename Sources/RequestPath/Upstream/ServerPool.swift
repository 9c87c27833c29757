import NIOCore
import Observability
import Sessions
import Settings
import Transport
import Vocabulary

/// One loop's streams to one server of an app: a member of a `ServerGroup`, which has the queue and the limits. A connection
/// of HTTP/1 has one stream. Idle ones are a stack, so that the most recently used one is taken first.
///
/// ```
///   in use ──▶ ending ──▶ idle ──▶ in use        ending: until the loop's turn ends and all sockets have been read
///     └──────────┴─────────┴────▶ closed
/// ```
/// What becomes free in a turn goes to requests in the group's queue when the turn ends.
///
/// An app may send more than its answer: two answers, or a body where none is allowed. If such bytes arrive before the
/// next request is sent, the connection is closed, so that the next client does not get them. Connections on which this
/// is likely are used last.
package final class ServerPool: TurnEndTask {
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
    /// The group of which it is a member. `nil` after a reload has removed the server, or the group.
    private(set) weak var group: ServerGroup?
    /// Its index in the group.
    private(set) var place = 0
    /// Whether the app has no other server. Then the answers and failures of this one change nothing.
    private(set) var isAlone = true
    /// The metrics of answers below 500 while nothing is held against the server. `nil` if an answer may change more.
    var calmIDs: ServerMetricIDs?
    /// Both live as long as the process, or until a reload replaces the pool. A reference that does not own is checked,
    /// and counted, at each use.
    let loop: PathLoop
    let transport: TransportLoop
    /// Whether each connection serves one session only.
    let isStrict: Bool
    /// Whether answers are taken as old servers send them.
    private(set) var isLenient: Bool
    /// The connections there are, and the requests for which one is being made.
    private(set) var open = 0
    /// The streams in use, and the requests for which a connection is being made.
    private(set) var inFlight = 0
    /// The connections that are being made, and for whom.
    var connects = PoolConnects()
    private var idle: [UpstreamConnection] = []
    /// Connections whose streams were returned in this turn.
    private var ending: [UpstreamConnection] = []
    /// The group's: how many streams are in use, whose requests use them, and which wait.
    let room: AppRoom
    private var isTurnEndDue = false
    /// The version of the server's addresses that the pool has seen.
    private var addressVersion: UInt32
    private var isRetired = false

    /// Makes the pool of one of the group's servers, which becomes a member by `join`.
    init(of server: UpstreamServer, in group: ServerGroup) {
        self.target = group.target
        self.server = server
        self.group = group
        self.room = group.room
        self.loop = group.loop
        self.transport = group.transport
        self.isStrict = group.isStrict
        self.isLenient = group.target.settings.answers == .lenient
        self.addressVersion = server.currentVersion
    }

    /// The stream of a kept connection that may serve this request, whose client may have another one.
    @inline(__always)
    func takeKept(for client: any StreamWaiter) -> UpstreamConnection? {
        guard let connection = self.isStrict ? self.takeOwn(Owner(client.session)) : self.idle.popLast() else {
            return nil
        }
        self.loop.metrics.upstreamConnections(active: 1, idle: -1)
        self.inFlight &+= 1
        connection.streams = 1
        if let seat = self.room.take(for: client.requester) { connection.seat = seat }
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
        self.endStream(of: connection)
        self.awaitTurnEnd()
        self.ending.append(connection)
    }

    /// Counts that the stream of a connection carries no request any more.
    @inline(__always)
    private func endStream(of connection: UpstreamConnection) {
        connection.streams = 0
        self.inFlight &-= 1
        self.room.giveBack(connection.seat.take())
    }

    @inline(__always)
    func awaitTurnEnd() {
        guard !self.isTurnEndDue else { return }
        self.isTurnEndDue = true
        self.loop.callAtTurnEnd(self)
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
        if !self.room.isEmpty { self.group?.serveQueue() }
    }

    /// Removes a connection that has closed.
    func remove(_ connection: UpstreamConnection) {
        if connection.streams > 0 { self.endStream(of: connection) }
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
    func sweep() {
        self.followAddresses()
        let isShort = self.loop.isShortOfFiles
        let limit = isShort ? .nanoseconds(0) : self.loop.configuration.timeouts.upstreamKeepAlive
        for index in self.idle.indices.reversed() where self.loop.now - self.idle[index].idleSince > limit {
            self.closeIdle(at: index)
        }
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

    /// Whether some connection is idle.
    var hasIdle: Bool { !self.idle.isEmpty }

    /// Whether the stream of a kept connection may serve this request.
    func hasKept(for client: any StreamWaiter) -> Bool {
        guard self.isStrict else { return !self.idle.isEmpty }
        let owner = Owner(client.session)
        return self.idle.contains { $0.owner == owner || $0.owner == .anybody }
    }

    /// Begins a connection for a request, whose room it takes.
    func begin(for client: any StreamWaiter, _ goal: AppRoom.ConnectGoal) -> AppRoom.Attempt {
        self.open += 1
        self.inFlight += 1
        self.group?.opens()
        return self.room.begin(for: client, goal)
    }

    /// Ends the attempt: the request gets the stream of this connection, which was made for it.
    func end(_ attempt: AppRoom.Attempt, by connection: UpstreamConnection) {
        connection.streams = 1
        connection.seat = self.room.end(attempt)
        // It may have closed while it began.
        if !connection.isUsable { self.endStream(of: connection) }
    }

    /// Ends the attempt, for which no connection is made.
    func giveUp(_ attempt: AppRoom.Attempt) {
        self.inFlight -= 1
        self.room.giveBack(self.room.end(attempt))
        self.release()
    }

    /// The streams that were returned in this turn.
    var returned: Int { self.ending.count }

    /// Gives back the room of a connection that has closed or could not be made.
    private func release() {
        self.open -= 1
        self.group?.released()
    }

    /// The server as it is now.
    ///
    /// - Parameters:
    ///   - isOut: Whether it gets no requests.
    ///   - ejections: How often this loop was the first to leave it out.
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

    // MARK: The group

    /// Whether it can go on as the pool of this server.
    func goesOn(_ target: UpstreamTarget, with server: UpstreamServer) -> Bool {
        self.server === server && target.tls === self.target.tls
    }

    /// Goes on as a member of its group with this index, with the settings of the group.
    ///
    /// - Parameter isAlone: Whether there is no other member.
    func join(at place: Int, isAlone: Bool, _ target: UpstreamTarget) {
        self.place = place
        self.isAlone = isAlone
        self.target = target
        self.isLenient = target.settings.answers == .lenient
    }

    /// Ends its membership: the server is gone, and the group counts its connections no longer.
    func leave() {
        self.group = nil
        self.isAlone = false
        self.retire()
    }

    /// Counts an answer that changes nothing else. False if it may change more.
    @inline(__always)
    func countsOnly(_ status: Int) -> Bool {
        if self.isAlone { return true }
        guard status < 500, let ids = self.calmIDs else { return false }
        self.loop.metrics.serverAnswered(ids, status: status)
        return true
    }

    /// Called when a reload has replaced this pool or its group. Exchanges that have begun end here, and no connection is
    /// kept.
    func retire() {
        self.isRetired = true
        self.calmIDs = nil
        while !self.idle.isEmpty { self.closeIdle(at: self.idle.count - 1) }
        let connections = self.ending
        for connection in connections { connection.close() }
    }
}
