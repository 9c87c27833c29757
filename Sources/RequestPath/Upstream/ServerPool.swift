package import NIOCore
import Observability
import Sessions
import Settings
import Transport
import Vocabulary

/// One loop's streams to one server of an app. The `ServerGroup` has the queue and the limits. An HTTP/1 connection has
/// one stream. The most recently used idle connection is taken first.
///
/// ```
///   in use ──▶ ending ──▶ idle ──▶ in use        ending: until the loop's turn ends and all sockets have been read
///     └──────────┴─────────┴────▶ closed
/// ```
/// Streams that become free in a turn go to requests in the group's queue at the end of the turn.
///
/// An app may send more than its answer. If such bytes arrive before the next request is sent, the connection is
/// closed, so that the next client does not get them. Doubtful connections (`UpstreamConnection.isDoubtful`) are used
/// last.
package final class ServerPool: TurnEndTask {
    /// The requests that may use a connection.
    enum Owner: Equatable {
        /// All requests.
        case anybody
        /// Requests without a session.
        case nobody
        case session(RecordKey)

        /// Requests of this session, or requests without a session if it is `nil`.
        init(_ session: CachedSession?) {
            self = session.map { .session($0.key) } ?? .nobody
        }
    }

    private(set) var target: UpstreamTarget
    let server: UpstreamServer
    /// The pool's group. `nil` after a reload has removed the server, or after the group's end. Not weak, because
    /// objects with weak references are slow to retain.
    private(set) unowned(unsafe) var group: ServerGroup?
    /// The pool's index in the group.
    private(set) var place = 0
    /// Whether the server is the app's only one. Its answers and failures then do not change its state.
    private(set) var isAlone = true
    /// The server's metrics, for answers below 500. `nil` while an answer may change the server's state.
    var calmIDs: ServerMetricIDs?
    /// Not weak, because each use of a weak reference is slow.
    let loop: PathLoop
    let transport: TransportLoop
    /// Whether each connection serves one session only.
    let isStrict: Bool
    /// Whether answers in the forms of old servers are accepted (`answers: lenient`).
    private(set) var isLenient: Bool
    /// The number of connections and pending connects.
    private(set) var open = 0
    /// The number of streams in use plus the number of connects for requests.
    private(set) var inFlight = 0
    /// The pending connects and the requests that wait for them.
    var connects = PoolConnects()
    private var idle: [UpstreamConnection] = []
    /// Connections whose streams were returned in this turn.
    private var ending: [UpstreamConnection] = []
    /// The group's count of streams in use, the clients that use them, and the queue.
    let room: AppRoom
    private var isTurnEndDue = false
    /// The version of the server's addresses that the pool has seen.
    private var addressVersion: UInt32
    private var isRetired = false

    /// Makes the pool of one of the group's servers. `join` makes the pool a member.
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

    /// Takes an idle connection that may serve the request. The caller has checked the client's share.
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

    /// Keeps a connection that was not used, or whose exchange ended cleanly.
    @inline(__always)
    func giveBack(_ connection: UpstreamConnection) {
        guard !self.isRetired, connection.isUsable else { return connection.close() }
        self.endStream(of: connection)
        self.awaitTurnEnd()
        self.ending.append(connection)
    }

    /// Records that a connection's stream is free again.
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

    /// Makes the connections in `ending` idle at the end of the turn, and serves the queue.
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

    /// Returns whether a connection leads to a current address of the server and uses the app's current TLS files.
    private func isCurrent(_ connection: UpstreamConnection) -> Bool {
        let addresses = self.server.current
        guard connection.addressVersion >= addresses.oldest, let address = connection.address,
            addresses.all.contains(address)
        else { return false }
        connection.addressVersion = addresses.version
        return true
    }

    /// Closes idle connections to addresses that the server no longer has. Connections in use close when their exchange
    /// ends.
    private func followAddresses() {
        let version = self.server.currentVersion
        guard version != self.addressVersion else { return }
        self.addressVersion = version
        for index in self.idle.indices.reversed() where !self.isCurrent(self.idle[index]) { self.closeIdle(at: index) }
    }

    /// Closes connections that exceed the idle timeout, and connections to addresses that the server no longer has.
    func sweep() {
        self.followAddresses()
        let isShort = self.loop.isShortOfFiles
        let limit = isShort ? .nanoseconds(0) : self.loop.configuration.timeouts.upstreamKeepAlive
        for index in self.idle.indices.reversed() {
            let connection = self.idle[index]
            if self.loop.now - connection.idleSince > min(limit, connection.idleLimit) { self.closeIdle(at: index) }
        }
    }

    /// The idle time after which the server may have closed a connection without the gateway's knowledge.
    package static let staleTime = TimeAmount.seconds(1)

    /// Called when a reused connection has turned out to be closed. Connections that have been idle for longer are
    /// probably closed, too, and most requests on them could not be sent again. So they are closed.
    func foundClosed(_ connection: UpstreamConnection) {
        for index in self.idle.indices.reversed() {
            let since = self.idle[index].idleSince
            if since <= connection.idleSince, self.loop.now - since > Self.staleTime { self.closeIdle(at: index) }
        }
    }

    /// Closes the idle connection that would be used last: a doubtful one, or the one that has been idle longest.
    func closeOldestIdle() {
        if !self.idle.isEmpty { self.closeIdle(at: 0) }
    }

    private func closeIdle(at index: Int) {
        let connection = self.idle.remove(at: index)
        self.loop.metrics.upstreamConnections(active: 1, idle: -1)
        connection.close()
    }

    // MARK: The limit of connections

    var hasIdle: Bool { !self.idle.isEmpty }

    /// Returns whether an idle connection may serve the request.
    func hasExisted(for client: any StreamWaiter) -> Bool {
        guard self.isStrict else { return !self.idle.isEmpty }
        let owner = Owner(client.session)
        return self.idle.contains { $0.owner == owner || $0.owner == .anybody }
    }

    /// Counts a connect for a request and returns the request's `AppRoom.Attempt`.
    func begin(for client: any StreamWaiter, _ goal: AppRoom.ConnectGoal) -> AppRoom.Attempt {
        self.open += 1
        self.inFlight += 1
        self.group?.opens()
        return self.room.begin(for: client, goal)
    }

    /// Ends the attempt and gives the request the stream of the connection.
    func end(_ attempt: AppRoom.Attempt, by connection: UpstreamConnection) {
        connection.streams = 1
        connection.seat = self.room.end(attempt)
        // The connection may have closed while its stream was started.
        if !connection.isUsable { self.endStream(of: connection) }
    }

    /// Ends an attempt without a connection.
    func giveUp(_ attempt: AppRoom.Attempt) {
        self.inFlight -= 1
        self.room.giveBack(self.room.end(attempt))
        self.release()
    }

    /// The number of streams that were returned in this turn.
    var returned: Int { self.ending.count }

    /// Counts that a connection has closed or a connect has failed.
    private func release() {
        self.open -= 1
        self.group?.released()
    }

    /// Returns a report of the server's current state.
    ///
    /// - Parameters:
    ///   - isOut: Whether the server gets no requests.
    ///   - ejections: The number of times that this loop was the first to eject the server.
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

    /// Returns whether the pool can be kept for the server after a reload.
    func goesOn(_ target: UpstreamTarget, with server: UpstreamServer) -> Bool {
        self.server === server && target.tls === self.target.tls
    }

    /// Makes the pool a member of its group, with an index and the group's settings.
    ///
    /// - Parameter isAlone: Whether the group has no other member.
    func join(at place: Int, isAlone: Bool, _ target: UpstreamTarget) {
        self.place = place
        self.isAlone = isAlone
        self.target = target
        self.isLenient = target.settings.answers == .lenient
    }

    /// Called when the group is about to be freed.
    func groupEnds() { self.group = nil }

    /// Ends the pool's membership. The server has been removed, and the group no longer counts its connections.
    func leave() {
        self.group = nil
        self.isAlone = false
        self.retire()
    }

    /// Counts an answer that cannot change the server's state. Returns false if the group must judge the answer.
    @inline(__always)
    func countsOnly(_ status: Int) -> Bool {
        if self.isAlone { return true }
        guard status < 500, let ids = self.calmIDs else { return false }
        self.loop.metrics.serverAnswered(ids, status: status)
        return true
    }

    /// Closes idle connections because a reload has replaced the pool or its group. Exchanges in progress continue.
    func retire() {
        self.isRetired = true
        self.calmIDs = nil
        while !self.idle.isEmpty { self.closeIdle(at: self.idle.count - 1) }
        let connections = self.ending
        for connection in connections { connection.close() }
    }
}
