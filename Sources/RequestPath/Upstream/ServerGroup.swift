import NIOCore
import Observability
import Settings
package import Transport
import Vocabulary

/// One loop's streams to an app. It chooses a server for each request, leaves out those that fail, and has the queue and the
/// limits for all of them. Each server's streams are a pool of their own.
///
/// If the app has one server, there is nothing to choose, and nothing is held against the server: requests wait for it as long
/// as they may, and only the app has metrics.
///
/// When all streams are in use and no more connections may be made, requests wait in a queue, and so do those of a client that
/// has its share of the streams (`ClientShares`). What becomes free in a turn is theirs when the turn ends.
package final class ServerGroup: AppPool, TurnEndTask {
    /// One server.
    package struct Member {
        package let pool: ServerPool
        /// The server's metrics. `nil` if the app has no other server.
        var ids: ServerMetricIDs?
        /// What the gauge of its requests shows.
        var shownInFlight = 0
        /// Whether the gauge of those that are left out has it.
        var isShownOut = false
        var ejections = 0
        var checks = HealthCount()
    }

    private(set) var target: UpstreamTarget
    /// Not counted at each use, as in `ServerPool`.
    let loop: PathLoop
    let transport: TransportLoop
    /// The app's index in the configuration.
    private var index: Int
    let isStrict: Bool
    package internal(set) var members: [Member] = []
    /// Their health and shares, in the same order.
    var roster: ServerRoster
    var budget = RetryBudget()
    /// The connections to all servers.
    private var open = 0
    /// How many streams are in use, whose requests use them, and which wait.
    let room: AppRoom
    private var isTurnEndDue = false
    private(set) var isRetired = false
    /// The version of the target's servers that the members are.
    private var placesVersion: UInt32 = 0
    /// The pool of the app's only server. `nil` if it has several.
    private var only: Pinned<ServerPool>?
    /// The members' pools in the same order, where each request goes to one of two as it is: all serve, none with a larger
    /// share, by how busy they are. Empty: the choice looks at more.
    private var even: [Pinned<ServerPool>] = []
    private var maxConnections = 0
    /// The server that `takeStream` has chosen for a request, which then asks for a new connection.
    private var chosen: (waiter: ObjectIdentifier, exchange: UInt64, place: Int)?

    /// Makes the pools of a loop on this event loop.
    package static func maker(on transport: TransportLoop) -> PathLoop.MakePool {
        { ServerGroup(target: $0, index: $1, loop: $2, transport: transport) }
    }

    /// - Parameters:
    ///   - index: The app's index in the configuration.
    ///   - transport: The event loop of `loop`.
    package init(target: UpstreamTarget, index: Int, loop: PathLoop, transport: TransportLoop) {
        self.target = target
        self.index = index
        self.loop = loop
        self.transport = transport
        self.isStrict = target.settings.reuse == .strict
        self.room = AppRoom(target, index: index, loop: loop)
        self.roster = ServerRoster(target.settings.balance, seed: .random(in: .min ... .max))
        self.setMembers()
    }

    /// Makes the members, of the former ones where the server is the same.
    private func setMembers() {
        let (former, entries) = (self.members, self.roster.entries)
        self.even = []
        // The version first: what changes meanwhile is found by the next look.
        self.placesVersion = self.target.placesVersion
        let servers = self.target.places
        let isAlone = servers.count == 1
        let places = servers.map { server in
            former.firstIndex { $0.pool.goesOn(self.target, with: server.server) }
        }
        // What was found out about a server is of no use when it has become the only one.
        let known = isAlone ? [nil] : places
        let ids = isAlone ? [] : self.loop.configuration.metrics.servers(of: self.index)
        for place in former.indices {
            if !known.contains(place) { self.forget(former[place], entries[place]) }
            if !places.contains(place) { former[place].pool.leave() }
        }
        self.members = servers.indices.map { index in
            let pool = places[index].map { former[$0].pool } ?? ServerPool(of: servers[index].server, in: self)
            pool.join(at: index, isAlone: isAlone, self.target)
            var member = known[index].map { former[$0] } ?? Member(pool: pool)
            member.ids = isAlone ? nil : ids[servers[index].index]
            return member
        }
        self.only = isAlone ? Pinned(self.members[0].pool) : nil
        // Connections to servers that are gone are not counted any longer.
        self.open = self.members.reduce(0) { $0 + $1.pool.open }
        self.room.adopt(self.target, index: self.index)
        if !self.room.isEmpty { self.awaitTurnEnd() }
        self.roster = ServerRoster(self.target.settings.balance, seed: .random(in: .min ... .max))
        let weights = self.target.settings.servers.map(\.weight)
        self.chosen = nil
        self.roster.set(
            // The weight is that of the settings: a server stays the same with another one.
            servers.map { ServerLoad(share: weights[$0.index], hash: $0.server.hash) },
            kept: known.map { $0.map { entries[$0] } },
            former: entries
        )
        if !isAlone { self.followSettings() }
    }

    /// Makes the members again if a name of the servers has got other addresses.
    private func followPlaces() {
        if self.target.placesVersion != self.placesVersion { self.setMembers() }
    }

    // MARK: Choosing

    /// The place of the server for a request: none that has failed for it.
    ///
    /// - Returns: nil: all have failed.
    private func choose(for client: any StreamWaiter) -> Int? {
        for place in self.members.indices {
            let pool = self.members[place].pool
            self.roster.loads[place].inFlight = pool.inFlight
            self.roster.loads[place].open = pool.open
            self.roster.loads[place].hasIdle = pool.hasIdle
        }
        return self.roster.choose(
            failed: client.failedServers,
            mayProbe: client.isRepeatable,
            limit: self.target.settings.maxConnections,
            now: self.loop.now,
            key: client.stickyKey
        )
    }

    package func takeStream(for client: any StreamWaiter) -> (any FreeStream)? {
        guard let only = self.only else { return self.chooseStream(for: client) }
        return self.room.admits(client) ? only.use { $0.takeKept(for: client) } : nil
    }

    /// Chooses one of several servers, and takes a stream on a kept connection to it.
    private func chooseStream(for client: any StreamWaiter) -> (any FreeStream)? {
        self.budget.count()
        guard self.room.admits(client) else { return nil }
        // A request that will be queued takes its turn when it leaves the queue.
        let isNext = self.room.isEmpty || !self.isQueueDue
        if isNext, client.failedServers == 0, let pool = self.chooseEven() {
            return pool.use { pool in
                client.upstreamChosen(pool.server)
                let free = pool.takeKept(for: client)
                if free == nil { self.chosen = (ObjectIdentifier(client), client.exchangeNumber, pool.place) }
                return free
            }
        }
        guard isNext, self.hasRoom, let place = self.choose(for: client) else { return nil }
        if let free = self.take(at: place, for: client) { return free }
        self.chosen = (ObjectIdentifier(client), client.exchangeNumber, place)
        return nil
    }

    /// The less busy of two random servers; nil: the choice is not as simple.
    @inline(__always)
    private func chooseEven() -> Pinned<ServerPool>? {
        guard !self.even.isEmpty, self.open < self.maxConnections else { return nil }
        let (one, other) = self.roster.pair()
        let (first, second) = (self.even[one], self.even[other])
        return second.use { $0.inFlight } < first.use { $0.inFlight } ? second : first
    }

    /// Called when a server has come or gone, or its share has changed.
    func setEven() {
        self.maxConnections = self.target.settings.maxConnections
        let isEven = self.target.settings.balance == .leastRequests && self.roster.isEven
        guard isEven == self.even.isEmpty || isEven && self.even.count != self.members.count else { return }
        self.even = isEven ? self.members.map { Pinned($0.pool) } : []
    }

    /// Whether those that wait are served when this turn ends, so that what is free is theirs.
    private var isQueueDue: Bool { self.isTurnEndDue || self.members.contains { $0.pool.returned > 0 } }

    /// A stream on a kept connection to the chosen server.
    private func take(at place: Int, for client: any StreamWaiter) -> (any FreeStream)? {
        let pool = self.members[place].pool
        if self.hasSeveralServers { client.upstreamChosen(pool.server) }
        return pool.takeKept(for: client)
    }

    package func awaitStream(for client: any StreamWaiter) {
        let chosen = self.chosen.take()
        guard self.hasRoom, self.room.isEmpty || !self.isQueueDue, self.room.admits(client) else {
            return self.room.enqueue(client, returned: self.members.reduce(0) { $0 + $1.pool.returned })
        }
        if let chosen, chosen.waiter == ObjectIdentifier(client), chosen.exchange == client.exchangeNumber {
            return self.connect(to: chosen.place, for: client)
        }
        guard let place = self.choose(for: client) else { return client.upstreamFailed(.upstreamUnreachable) }
        self.connect(to: place, for: client)
    }

    package func awaitStream(for client: any StreamWaiter, after failed: any AppStream) {
        if let place = failed.server.use({ self.place(of: $0) }) {
            let bit = self.roster.entries[place].bit
            let others = self.roster.entries.contains { $0.isServing && $0.bit != bit }
            // A kept connection may only have been closed for its age: a session stays with its server, and no server that
            // is left out is better.
            let isOld = failed.isReused && !failed.hasAnswered
            if !isOld || others && self.target.settings.balance != .sticky { client.failedServers |= bit }
        }
        self.awaitStream(for: client)
    }

    /// Connects to a server that has not failed for the request. If all have, they may be starting, and are tried again after
    /// a pause.
    ///
    /// - Parameters:
    ///   - attempt: The last one for the request, which has failed.
    ///   - reason: Why the request fails if there is no server for it.
    func connectElsewhere(for attempt: AppRoom.Attempt, otherwise reason: Reason) {
        let client = attempt.client
        if let place = self.choose(for: client) { return self.connect(to: place, for: client, after: attempt) }
        guard reason == .upstreamUnreachable, self.mayStart(since: attempt.begun) else {
            if reason == .upstreamUnreachable {
                self.room.notify(reason, "none of its servers accepts one")
            }
            return client.upstreamFailed(reason)
        }
        self.transport.assumeIsolated().scheduleTask(in: ConnectPace.longestPause) {
            guard attempt.isWanted else { return }
            client.failedServers = attempt.failedBefore
            self.connectElsewhere(for: attempt, otherwise: reason)
        }
    }

    /// Whether a request that has been connecting since `begun` waits for servers that refuse connections.
    private func mayStart(since begun: NIODeadline) -> Bool {
        let now = NIODeadline.now()
        let limit = min(ConnectPace.startPatience, self.loop.configuration.connectTimeout)
        let patience = self.members.map { $0.pool.connects.pace.patience(upTo: limit, now: now) }
        return now - begun < patience.max() ?? limit
    }

    /// Connects to this server. If the app has others, and it cannot be connected to, it has failed for the request.
    ///
    /// - Parameter attempt: The last one for the request, at another server. `nil` if this is the first.
    private func connect(to place: Int, for client: any StreamWaiter, after attempt: AppRoom.Attempt? = nil) {
        let pool = self.members[place].pool
        var goal = AppRoom.ConnectGoal(begun: attempt?.begun)
        if self.hasSeveralServers {
            client.upstreamChosen(pool.server)
            goal.failedBefore = attempt?.failedBefore ?? client.failedServers
            client.failedServers |= self.roster.entries[place].bit
            let failed = client.failedServers
            goal.group = self
            goal.hasOthers = self.roster.entries.contains { $0.bit & failed == 0 }
        }
        if self.open >= self.target.settings.maxConnections,
            let giver = self.roster.giver(for: place, limit: self.target.settings.maxConnections)
        {
            self.members[giver].pool.closeOldestIdle()
        }
        pool.makeConnection(for: client, goal)
    }

    package var hasSeveralServers: Bool { self.only == nil }

    /// The other servers that serve, as bits, if this one says by the status that another one may answer better.
    func others(than pool: ServerPool, after status: Int) -> UInt64 {
        guard self.target.settings.retryOn.contains(status) else { return 0 }
        return zip(self.members, self.roster.entries).reduce(0) { bits, server in
            server.0.pool !== pool && server.1.isServing ? bits | server.1.bit : bits
        }
    }

    package func takeRetry() -> Bool { self.budget.take(now: self.loop.now) }

    /// The place of one of several members. `nil` if a reload has removed it, or there is no other one.
    func place(of pool: ServerPool) -> Int? {
        let place = pool.place
        guard self.hasSeveralServers, place < self.members.count else { return nil }
        return self.members[place].pool === pool ? place : nil
    }

    /// The place of one of several servers. `nil` if a reload has removed it, or there is no other one.
    private func place(of server: UpstreamServer) -> Int? {
        self.hasSeveralServers ? self.members.firstIndex { $0.pool.server === server } : nil
    }

    // MARK: The limit of connections

    /// Whether a request can have a stream: one of an idle connection, or of one more.
    private var hasRoom: Bool {
        self.open < self.target.settings.maxConnections || self.members.contains { $0.pool.hasIdle }
    }

    /// Called when a connection of some server is about to be made.
    func opens() { self.open += 1 }

    /// Called when a connection of some server has closed or could not be made.
    func released() {
        self.open -= 1
        // Not now: the caller may be in the middle of a change.
        if !self.room.isEmpty { self.awaitTurnEnd() }
    }

    private func awaitTurnEnd() {
        guard !self.isTurnEndDue else { return }
        self.isTurnEndDue = true
        self.loop.callAtTurnEnd(self)
    }

    package func turnEnded() {
        self.isTurnEndDue = false
        self.serveQueue()
    }

    /// Gives the streams that have become free to the requests that wait.
    func serveQueue() {
        while self.hasRoom, let client = self.room.next() { self.serve(client) }
    }

    /// Gives a stream to a request that has left the queue.
    private func serve(_ client: any StreamWaiter) {
        guard let place = self.choose(for: client) else { return client.upstreamFailed(.upstreamUnreachable) }
        if let free = self.take(at: place, for: client) {
            client.upstreamReady(free, isReused: true)
        } else {
            self.connect(to: place, for: client)
        }
    }

    package func waiterLeft(_ waiter: any StreamWaiter) { self.room.left(waiter) }

    package var isCrowded: Bool { self.room.isCounting }

    // MARK: The loop

    package func sweep() {
        self.budget.advance(to: self.loop.now)
        self.followPlaces()
        for place in self.members.indices {
            let pool = self.members[place].pool
            pool.sweep()
            guard let ids = self.members[place].ids else { continue }
            let inFlight = pool.inFlight
            let change = inFlight - self.members[place].shownInFlight
            if change != 0 {
                self.loop.metrics.serverInFlight(ids, Int64(change))
                self.members[place].shownInFlight = inFlight
            }
            self.watch(place)
        }
        self.setEven()
        self.room.sweep(hasRoom: self.hasRoom)
    }

    package var reports: [ServerReport] {
        zip(self.members, self.roster.entries).map { member, entry in
            member.pool.report(isOut: !entry.isServing, ejections: member.ejections)
        }
    }

    package func moved(to index: Int) {
        self.index = index
        self.room.moved(to: index)
        self.followPlaces()
    }

    package func adopt(_ target: UpstreamTarget, index: Int) -> Bool {
        guard self.isStrict == (target.settings.reuse == .strict) else { return false }
        self.target = target
        self.index = index
        self.setMembers()
        return true
    }

    package func retire() {
        self.isRetired = true
        for (member, entry) in zip(self.members, self.roster.entries) {
            self.forget(member, entry)
            member.pool.retire()
        }
    }

    /// Shows nothing more of a member, and holds nothing against its server.
    private func forget(_ member: Member, _ entry: ServerRoster.Entry) {
        guard let ids = member.ids else { return }
        self.loop.metrics.serverInFlight(ids, Int64(-member.shownInFlight))
        if member.isShownOut { self.loop.metrics.serverOut(ids, -1) }
        if !entry.health.isServing { member.pool.server.news.forgets() }
        if self.loop.checksServers { _ = member.pool.server.news.found(isDown: false) }
    }
}
