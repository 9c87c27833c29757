import NIOCore
import Observability
import Settings
package import Transport
import Vocabulary

/// One loop's streams to an app. Chooses a server for each request, ejects servers that fail, and limits the
/// connections to all servers. The streams to each server are a `ServerPool`.
///
/// An app's only server is never ejected. Requests wait for the server until their timeouts.
///
/// Requests wait in a queue while all streams are in use and no more connections may be made, or while their client has
/// used up its share (`ClientShares`). Streams that become free in a turn go to the queue at the end of the turn.
package final class ServerGroup: AppPool, TurnEndTask {
    /// A server of the app, with its pool and its state.
    package struct Member {
        package let pool: ServerPool
        /// The server's metrics. `nil` if the app has one server.
        var ids: ServerMetricIDs?
        /// The number of requests in flight that the server's gauge shows.
        var shownInFlight = 0
        /// Whether the gauge of ejected servers includes the server.
        var isShownOut = false
        var ejections = 0
        var checks = HealthCount()
    }

    private(set) var target: UpstreamTarget
    /// Not weak, because each use of a weak reference is slow.
    let loop: PathLoop
    let transport: TransportLoop
    /// The app's index in the configuration.
    private var index: Int
    let isStrict: Bool
    package internal(set) var members: [Member] = []
    /// The members' health and shares, in the order of `members`.
    var roster: ServerRoster
    var budget = RetryBudget()
    /// The number of connections and pending connects to all servers.
    private var open = 0
    /// The number of streams in use, the clients that use them, and the queue.
    let room: AppRoom
    private var isTurnEndDue = false
    private(set) var isRetired = false
    /// The version of the target's places from which `members` was made.
    private var placesVersion: UInt32 = 0
    /// The pool of the app's only server. `nil` if the app has several.
    private var only: Pinned<ServerPool>?
    /// The members' pools, in the order of `members`, if a request simply goes to the less busy of two random servers.
    /// Empty if the choice depends on more: a server is out, shares differ, or another balance is set.
    private var even: [Pinned<ServerPool>] = []
    private var maxConnections = 0
    /// The server that `takeStream` chose for a request that has to wait for a new connection.
    private var chosen: (waiter: ObjectIdentifier, exchange: UInt64, place: Int)?

    /// Returns a function that makes the pools of the `PathLoop` that runs on `transport`.
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

    deinit {
        for member in self.members { member.pool.groupEnds() }
    }

    /// Makes the members. Keeps the pool of a server that was a member before.
    private func setMembers() {
        let (former, entries) = (self.members, self.roster.entries)
        self.even = []
        // Read first, so that the next `followPlaces` notices a change in between.
        self.placesVersion = self.target.placesVersion
        let servers = self.target.places
        let isAlone = servers.count == 1
        let places = servers.map { server in
            former.firstIndex { $0.pool.goesOn(self.target, with: server.server) }
        }
        // The health of an app's only server is not used.
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
        // Connections to removed servers are no longer counted.
        self.open = self.members.reduce(0) { $0 + $1.pool.open }
        self.room.adopt(self.target, index: self.index)
        if !self.room.isEmpty { self.awaitTurnEnd() }
        self.roster = ServerRoster(self.target.settings.balance, seed: .random(in: .min ... .max))
        let weights = self.target.settings.servers.map(\.weight)
        self.chosen = nil
        self.roster.set(
            // A server that stays may have a new weight.
            servers.map { ServerLoad(share: weights[$0.index], hash: $0.server.hash) },
            kept: known.map { $0.map { entries[$0] } },
            former: entries
        )
        if !isAlone { self.followSettings() }
    }

    /// Makes the members again if the addresses of a server's name have changed.
    private func followPlaces() {
        if self.target.placesVersion != self.placesVersion { self.setMembers() }
    }

    // MARK: Choosing

    /// Returns the index of a server that has not failed for the request.
    ///
    /// - Returns: `nil` if all servers have failed for the request.
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

    /// Chooses one of several servers and takes a stream of an idle connection to it.
    private func chooseStream(for client: any StreamWaiter) -> (any FreeStream)? {
        self.budget.count()
        guard self.room.admits(client) else { return nil }
        // A request that has to wait in the queue chooses its server when it leaves the queue.
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

    /// Returns the pool of the less busy of two random servers. `nil` if the choice depends on more than the load.
    @inline(__always)
    private func chooseEven() -> Pinned<ServerPool>? {
        guard !self.even.isEmpty, self.open < self.maxConnections else { return nil }
        let (one, other) = self.roster.pair()
        let (first, second) = (self.even[one], self.even[other])
        return second.use { $0.inFlight } < first.use { $0.inFlight } ? second : first
    }

    /// Called when the servers or their shares have changed. Updates `even` and the limit of connections.
    func setEven() {
        self.maxConnections = self.target.settings.maxConnections
        let isEven = self.target.settings.balance == .leastRequests && self.roster.isEven
        guard isEven == self.even.isEmpty || isEven && self.even.count != self.members.count else { return }
        self.even = isEven ? self.members.map { Pinned($0.pool) } : []
    }

    /// Whether the queue is served when this turn ends. Free streams are kept for the queue until then.
    private var isQueueDue: Bool { self.isTurnEndDue || self.members.contains { $0.pool.returned > 0 } }

    /// Returns a stream of an idle connection to the chosen server. `nil` if none exists.
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
            // A server that only closed an idle connection is avoided only if another server is in use, and not with
            // `sticky`.
            let isOld = failed.isReused && !failed.hasAnswered
            if !isOld || others && self.target.settings.balance != .sticky { client.failedServers |= bit }
        }
        self.awaitStream(for: client)
    }

    /// Connects to a server that has not failed for the request. If all have failed but may be starting, tries them
    /// again after a pause.
    ///
    /// - Parameters:
    ///   - attempt: The request's last attempt. It has failed.
    ///   - reason: The reason for the request's failure if no server remains.
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

    /// Returns whether a request that began to connect at `begun` still waits for servers that refuse connections.
    private func mayStart(since begun: NIODeadline) -> Bool {
        let now = NIODeadline.now()
        let limit = min(ConnectPace.startPatience, self.loop.configuration.connectTimeout)
        let patience = self.members.map { $0.pool.connects.pace.patience(upTo: limit, now: now) }
        return now - begun < patience.max() ?? limit
    }

    /// Connects to a server. If the app has several servers, marks the server as failed for the request in advance.
    ///
    /// - Parameter attempt: The request's last attempt, at another server. `nil` if this is the first attempt.
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

    /// Returns the other servers in use, as bits, if `status` allows a retry at one of them. Otherwise returns 0.
    func others(than pool: ServerPool, after status: Int) -> UInt64 {
        guard self.target.settings.retryOn.contains(status) else { return 0 }
        return zip(self.members, self.roster.entries).reduce(0) { bits, server in
            server.0.pool !== pool && server.1.isServing ? bits | server.1.bit : bits
        }
    }

    package func takeRetry() -> Bool { self.budget.take(now: self.loop.now) }

    /// Returns the index of a pool's member. `nil` if a reload has removed the member, or the app has one server.
    func place(of pool: ServerPool) -> Int? {
        let place = pool.place
        guard self.hasSeveralServers, place < self.members.count else { return nil }
        return self.members[place].pool === pool ? place : nil
    }

    /// Returns the index of a server's member. `nil` if a reload has removed the member, or the app has one server.
    private func place(of server: UpstreamServer) -> Int? {
        self.hasSeveralServers ? self.members.firstIndex { $0.pool.server === server } : nil
    }

    // MARK: The limit of connections

    /// Whether an idle connection, or a new one within the limit, can serve a request.
    private var hasRoom: Bool {
        self.open < self.target.settings.maxConnections || self.members.contains { $0.pool.hasIdle }
    }

    /// Called when a connect to any server begins.
    func opens() { self.open += 1 }

    /// Called when a connection to any server has closed or a connect has failed.
    func released() {
        self.open -= 1
        // Deferred, because the caller may be in the middle of a change.
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

    /// Gives free streams to the requests in the queue.
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

    /// Removes a member from the gauges, and withdraws what this loop has reported about its server's health.
    private func forget(_ member: Member, _ entry: ServerRoster.Entry) {
        guard let ids = member.ids else { return }
        self.loop.metrics.serverInFlight(ids, Int64(-member.shownInFlight))
        if member.isShownOut { self.loop.metrics.serverOut(ids, -1) }
        if !entry.health.isServing { member.pool.server.news.forgets() }
        if self.loop.checksServers { _ = member.pool.server.news.found(isDown: false) }
    }
}
