import NIOCore
import NIOSSL
import Observability
import Sessions
import Settings
package import Transport
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

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
package final class UpstreamPool: AppPool {
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
    private let transport: TransportLoop
    /// The app's index in the configuration.
    private var index: Int
    /// Whether each connection serves one session only.
    let isStrict: Bool
    private(set) var open = 0
    private var idle: [UpstreamConnection] = []
    /// Connections that were returned in this turn.
    private var ending: [UpstreamConnection] = []
    /// Whose requests use the connections, and which wait: the group's where there is one.
    private(set) var room: AppRoom
    /// From so many connections on, shares are looked at; never where a group does this.
    private var threshold: Int
    /// Whether it serves the queue. False for what is or was a member of a group.
    private var servesQueue = true
    private var isTurnEndDue = false
    /// How many connections were begun: each begins with the next address of the name.
    private var turn = 0
    /// The version of the server's addresses that the pool has seen.
    private var addressVersion: UInt32 = 0
    private var isRetired = false

    /// Makes the pools of a loop on this event loop.
    package static func maker(on transport: TransportLoop) -> PathLoop.MakePool {
        { target, index, loop in
            target.isGroup
                ? ServerGroup(target: target, index: index, loop: loop, transport: transport)
                : UpstreamPool(target: target, index: index, loop: loop, transport: transport)
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
    private func awaitTurnEnd() {
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

    /// The connections that were returned in this turn.
    var returned: Int { self.ending.count }

    /// The requests that it serves, or for which it connects.
    var inFlight: Int { self.open - self.idle.count - self.ending.count }

    /// Gives back the room of a connection that has closed or could not be made.
    private func release() {
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

    /// Connects for `client` to the first of the server's addresses that answers. If no more connections may be made, an
    /// idle one is closed, which is kept for another session.
    private func makeConnection(for client: any ConnectionWaiter) {
        if self.open >= self.target.settings.maxConnections, !self.idle.isEmpty { self.closeIdle(at: 0) }
        self.makeConnection(for: client, in: nil)
    }

    /// The same where the group has made room.
    ///
    /// - Parameter group: The one that has other servers for the request, also if a reload removes this one meanwhile.
    func makeConnection(for client: any ConnectionWaiter, in group: ServerGroup?) {
        self.open += 1
        self.group?.opens()
        client.upstreamTried(self.server)
        let attempt = self.room.begin(for: client, in: group)
        let addresses = self.server.current
        guard !addresses.all.isEmpty else { return self.awaitAddresses(for: attempt) }
        self.race(addresses, attempt)
    }

    /// Connects when the name has been resolved for the first time. Another thread does this, and requests wait for it as
    /// long as for a connection.
    private func awaitAddresses(for attempt: AppRoom.Attempt) {
        let eventLoop = self.loop.eventLoop
        let patience = self.loop.configuration.connectTimeout
        let bound = NIOLoopBound((pool: self, attempt: attempt), eventLoop: eventLoop)
        let resolved = eventLoop.makePromise(of: UpstreamServer.Addresses.self)
        guard self.server.resolveFirst(now: .now(), patience: patience, { resolved.succeed($0) }) else {
            resolved.succeed(.none)
            return self.unreachable(.unreachable, attempt)
        }
        let timer = eventLoop.scheduleTask(in: patience) { resolved.succeed(.none) }
        resolved.futureResult.whenSuccess { addresses in
            timer.cancel()
            let (pool, attempt) = bound.value
            pool.race(addresses, attempt)
        }
    }

    private func connected(_ connection: UpstreamConnection, _ attempt: AppRoom.Attempt) {
        let seat = self.room.end(attempt)
        // It may have closed while it began.
        if connection.isUsable { connection.seat = seat } else if let seat { self.room.giveBack(seat) }
        // If the client has left or was answered, the connection is kept for another request.
        guard attempt.isWanted else { return self.giveBack(connection) }
        attempt.client.upstreamConnected(connection, isReused: false)
    }

    /// Gives back the room of a connection that was not made.
    private func giveUp(_ attempt: AppRoom.Attempt) {
        if let seat = self.room.end(attempt) { self.room.giveBack(seat) }
        self.release()
    }

    /// How soon a connection is tried again for which the process had no descriptor.
    private static let pauseWithoutFile = TimeAmount.milliseconds(50)

    /// - Parameter end: When the time for the connection ends, which is tried again; nil: it begins now.
    private func race(
        _ addresses: UpstreamServer.Addresses,
        _ attempt: AppRoom.Attempt,
        until end: NIODeadline? = nil
    ) {
        guard attempt.isWanted else { return self.giveUp(attempt) }
        guard !addresses.all.isEmpty else { return self.unreachable(.unreachable, attempt) }
        if end != nil, let connection = self.takeKept(for: attempt.client) {
            self.giveUp(attempt)
            return attempt.client.upstreamConnected(connection, isReused: true)
        }
        self.turn &+= 1
        let ordered = addresses.all.begun(at: self.turn)
        let now = NIODeadline.now()
        let end = end ?? now + self.loop.configuration.connectTimeout
        self.connectStream(ordered, within: end - now) { result in
            switch result.map(self.start) {
            case .failure(.file) where NIODeadline.now() + Self.pauseWithoutFile < end:
                self.transport.assumeIsolated().scheduleTask(in: Self.pauseWithoutFile) {
                    self.race(addresses, attempt, until: end)
                }
            case .failure(let missing): self.unreachable(missing.fault, attempt)
            case .success(nil): self.unreachable(.unreachable, attempt)
            case .success(let connection?):
                connection.addressVersion = addresses.version
                self.loop.metrics.upstreamConnections(active: 1, idle: 0)
                self.connected(connection, attempt)
            }
        }
    }

    private func unreachable(_ fault: ServerNotice.Fault, _ attempt: AppRoom.Attempt) {
        self.giveUp(attempt)
        self.server.refreshSoon(now: .now())
        // The server may be well when the process has no descriptor left.
        if self.loop.isShortOfFiles { self.group?.disappointed(self, fault) } else { self.group?.failed(self, fault) }
        guard attempt.isWanted else { return }
        if let group = attempt.group {
            attempt.client.upstreamMissed(fault.reason)
            return group.connectElsewhere(for: attempt.client, otherwise: fault.reason)
        }
        attempt.client.upstreamFailed(fault.reason)
    }

    // MARK: Opening

    /// A stream to the server, which has to be started at once.
    typealias Connected = (stream: any ByteStream, address: SocketAddress?)

    /// Why there is no stream.
    private enum Missing: Error {
        case server(ServerNotice.Fault)
        /// The process had no descriptor left for it.
        case file

        var fault: ServerNotice.Fault { if case .server(let fault) = self { fault } else { .unreachable } }
    }

    /// Connects to the first address that answers, with TLS if the app has it.
    private func connectStream(
        _ addresses: [SocketAddress],
        within timeout: TimeAmount,
        _ then: @escaping (Result<Connected, Missing>) -> Void
    ) {
        let memory = self.server.memory
        guard let tls = self.target.tls else {
            return ConnectionRace(addresses, on: self.transport, timeout: timeout, memory: memory) { result in
                then(result.map { ($0.0, $0.1) }.mapError { self.missing(after: $0) })
            }.start()
        }
        let name = self.server.tlsName
        let host = self.server.settings.host
        let settings = self.target.settings
        let judge = { (error: any Error, certificate: NIOSSLCertificate?) in
            TLSFault(
                error,
                name: name ?? host,
                hasCertificate: settings.certificateFile != nil,
                certificate: certificate,
                now: Clock.system.now()
            )
        }
        let end = NIODeadline.now() + timeout
        let stream = NIOLoopBound(TLSStream(judge), eventLoop: self.transport)
        PipelineChannel.connect(toFirstOf: addresses, on: self.transport, timeout: timeout, memory: memory) { channel in
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers(handler, stream.value)
        }.assumeIsolated().whenComplete { result in
            let channel: any Channel
            switch result {
            case .success(let connected): channel = connected
            case .failure(let error): return then(.failure(self.missing(after: error)))
            }
            // Where the first addresses took all of the time, the handshake still gets some.
            let patience = max(end - .now(), .nanoseconds(timeout.nanoseconds / 4))
            self.awaitTLS(on: stream.value, for: patience) { fault in
                then(fault.map { .failure(.server($0)) } ?? .success((stream.value, channel.remoteAddress)))
            }
        }
    }

    /// Why there is no connection. If the process has no descriptor left, connections that are idle give theirs back.
    private func missing(after error: any Error) -> Missing {
        guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
            return .server(.unreachable)
        }
        self.loop.ranOutOfFiles()
        return .file
    }

    /// Waits until TLS has come about. A server with which it does not, or not in time, is as good as none.
    ///
    /// - Parameter then: Called with why there is none.
    private func awaitTLS(
        on stream: TLSStream,
        for patience: TimeAmount,
        _ then: @escaping (ServerNotice.Fault?) -> Void
    ) {
        // It may have ended while it began.
        guard stream.isOpen else { return then(stream.fault == nil ? .reset : .tls) }
        let timer = self.transport.assumeIsolated().scheduleTask(in: patience) { stream.giveUp() }
        stream.onHandshake = { isComplete in
            timer.cancel()
            if let fault = stream.fault { self.tell(.upstreamTLS, fault.description) }
            then(isComplete ? nil : stream.fault == nil ? .reset : .tls)
        }
    }

    /// Connects to see whether the server is there, and closes the connection. Calls `then` once.
    func seek(_ then: @escaping (Bool) -> Void) {
        self.connectStream(self.knownAddresses, within: self.loop.configuration.connectTimeout) { result in
            switch result {
            case .success(let connected): connected.stream.close()
            case .failure: self.server.refreshSoon(now: .now())
            }
            then((try? result.get()) != nil)
        }
    }

    /// Asks the server whether it is there.
    ///
    /// - Parameter then: Called once with why the server is not there; `nil` if it is.
    func check(_ health: HealthSettings, _ then: @escaping (CheckFault?) -> Void) {
        let timeout = TimeAmount(health.timeout)
        let check = HealthCheck(health, of: self.server.settings, then)
        check.timer = self.transport.assumeIsolated().scheduleTask(in: timeout) { check.end(.timeout) }
        self.connectStream(self.knownAddresses, within: timeout) { result in
            switch result {
            case .success(let connected): check.start(on: connected.stream)
            case .failure(let missing):
                self.server.refreshSoon(now: .now())
                check.end(missing.fault == .tls ? .tls : .unreachable)
            }
        }
    }

    /// The last good addresses; none: the name has never been resolved, and nothing can be connected to.
    private var knownAddresses: [SocketAddress] { self.server.current.all }

    /// A connection over a stream that has connected; nil: it has closed already.
    private func start(_ connected: Connected) -> UpstreamConnection? {
        let connection = UpstreamConnection(connected.stream, to: connected.address, pool: self)
        return (try? connected.stream.start(connection)) == nil ? nil : connection
    }
}
