import NIOCore
import Observability
import Settings
package import Transport
import Vocabulary

/// One loop's connections to an app with several servers. It chooses a server for each request, leaves out those that fail,
/// and has the queue and the limits for all of them. Each server's connections are a pool of their own.
package final class ServerGroup: AppPool {
    /// One server.
    struct Member {
        let pool: UpstreamPool
        /// Its bit in `ConnectionWaiter.failedServers`, which a reload does not change.
        let bit: UInt64
        var ids: ServerMetricIDs
        var health = ServerHealth()
        /// What the gauge of its requests shows.
        var shownInFlight = 0
        /// Whether the gauge of those that are left out has it.
        var isShownOut = false
        var ejections = 0
        /// Whether checks find it down.
        var isDown = false
        /// Since when it grows (`UpstreamSettings.slowStart`); nil: it has its whole share.
        var growsSince: NIODeadline?
        var checks = HealthCount()

        /// Whether requests are sent to it.
        var isServing: Bool { !self.isDown && self.health.isServing }
    }

    private(set) var target: UpstreamTarget
    /// As in `UpstreamPool`.
    let loop: PathLoop
    private let transport: TransportLoop
    /// The app's index in the configuration.
    private var index: Int
    private let isStrict: Bool
    var members: [Member] = []
    /// What the choice looks at, in the order of the members.
    var loads: [ServerLoad] = []
    var choice: ServerChoice
    /// How many members are left out.
    var outCount = 0
    var budget = RetryBudget()
    /// The connections to all servers.
    private var open = 0
    private var queue = ConnectionQueue()
    private let queueGauge: GaugeID
    private var isTurnEndDue = false
    private(set) var isRetired = false
    /// The server that `takeIdle` has chosen for a request, which then asks for a new connection.
    private var chosen: (waiter: ObjectIdentifier, exchange: UInt64, place: Int)?

    /// - Parameters:
    ///   - index: The app's index in the configuration.
    ///   - transport: The event loop of `loop`.
    package init(target: UpstreamTarget, index: Int, loop: PathLoop, transport: TransportLoop) {
        self.target = target
        self.index = index
        self.loop = loop
        self.transport = transport
        self.isStrict = target.settings.reuse == .strict
        self.queueGauge = loop.configuration.metrics.upstreamQueue(index)
        self.choice = ServerChoice(target.settings.balance, seed: .random(in: .min ... .max))
        self.setMembers()
    }

    /// Makes the members, of the former ones where the server is the same.
    private func setMembers() {
        let former = self.members
        let kept = self.target.servers.map { server in
            former.first { $0.pool.goesOn(self.target, with: server) }
        }
        let ids = self.loop.configuration.metrics.servers(of: self.index)
        // A request that connects now knows those by their bits that are gone. There are more bits than servers.
        var used = former.reduce(0) { $0 | $1.bit }
        var ownBits = kept.reduce(0) { $0 | ($1?.bit ?? 0) }
        self.members = zip(zip(self.target.servers, kept), ids).map { pair, ids in
            if var member = pair.1 {
                member.ids = ids
                return member
            }
            let bit = Self.lowest(~used) == 0 ? Self.lowest(~ownBits) : Self.lowest(~used)
            used |= bit
            ownBits |= bit
            let pool = UpstreamPool(
                target: self.target,
                server: pair.0,
                index: self.index,
                loop: self.loop,
                transport: self.transport
            )
            return Member(pool: pool, bit: bit, ids: ids)
        }
        for (place, member) in self.members.enumerated() {
            member.pool.join(self, at: place, self.target, index: self.index)
        }
        for member in former where !self.members.contains(where: { $0.pool === member.pool }) {
            self.retire(member)
            member.pool.leave()
        }
        self.open = self.members.reduce(0) { $0 + $1.pool.open }
        self.loads = zip(self.target.settings.servers, self.target.servers).map {
            ServerLoad(share: $0.weight, hash: $1.hash)
        }
        self.followSettings()
    }

    /// The lowest of some bits; 0: there is none.
    private static func lowest(_ bits: UInt64) -> UInt64 { bits & (~bits &+ 1) }

    // MARK: Choosing

    /// The place of the server for a request: none that has failed for it.
    ///
    /// - Returns: nil: all have failed.
    private func choose(for client: any ConnectionWaiter) -> Int? {
        let failed = client.failedServers
        for place in self.members.indices {
            self.loads[place].inFlight = self.members[place].pool.inFlight
            self.loads[place].isAvailable = failed & self.members[place].bit == 0 && self.members[place].isServing
        }
        if self.outCount > 0, failed == 0, client.isRepeatable, let place = self.probe(for: client) { return place }
        if self.open >= self.target.settings.maxConnections { self.keepToShares() }
        if let place = self.choice.choose(&self.loads, key: client.stickyKey) { return place }
        // None is left that serves: better one that may fail than none.
        for place in self.members.indices { self.loads[place].isAvailable = failed & self.members[place].bit == 0 }
        return self.choice.choose(&self.loads, key: client.stickyKey)
    }

    /// A server that was left out for long enough: this request decides whether it is back, since it can be sent to another
    /// one if that fails. A session is not taken from its own server for it.
    private func probe(for client: any ConnectionWaiter) -> Int? {
        let now = self.loop.now
        guard let first = self.members.indices.first(where: { self.awaitsProbe($0, now: now) }) else { return nil }
        var due = first
        if self.target.settings.balance == .sticky {
            let serving = self.loads
            defer { self.loads = serving }
            for place in self.members.indices where self.awaitsProbe(place, now: now) {
                self.loads[place].isAvailable = true
            }
            guard let own = self.choice.choose(&self.loads, key: client.stickyKey), !serving[own].isAvailable else {
                return nil
            }
            due = own
        }
        self.members[due].health.probe(now: now)
        return due
    }

    private func awaitsProbe(_ place: Int, now: NIODeadline) -> Bool {
        !self.members[place].isDown && self.members[place].health.awaitsProbe(now: now)
    }

    /// At the limit of connections: has the request use an idle connection, if a server has one, or add one to a server that
    /// has less than its share of all. Else servers would take connections from each other with every request. A session
    /// goes to its own server even so.
    private func keepToShares() {
        guard self.target.settings.balance != .sticky else { return }
        let total = self.servingWeight
        let givesOne = self.giver(total).map { self.excess($0, total) > 0 } ?? false
        func fits(_ place: Int) -> Bool {
            self.loads[place].isAvailable
                && (self.members[place].pool.hasIdle || givesOne && self.excess(place, total) + total <= 0)
        }
        guard self.loads.indices.contains(where: fits) else { return }
        for place in self.loads.indices { self.loads[place].isAvailable = fits(place) }
    }

    private var servingWeight: Int {
        self.members.indices.reduce(0) { $0 + (self.members[$1].isServing ? self.loads[$1].weight : 0) }
    }

    /// How many connections more than its share of all a server has, times the weight of all.
    private func excess(_ place: Int, _ total: Int) -> Int {
        let share = self.members[place].isServing ? self.loads[place].weight : 0
        return self.members[place].pool.open * total - self.target.settings.maxConnections * share
    }

    /// The server that loses an idle connection when another one needs it: the one that has most above its share.
    private func giver(_ total: Int) -> Int? {
        self.members.indices.filter { self.members[$0].pool.hasIdle }
            .max { self.excess($0, total) < self.excess($1, total) }
    }

    package func takeIdle(for client: any ConnectionWaiter) -> (any AppConnection)? {
        self.budget.count()
        // A request that will be queued takes its turn when it leaves the queue.
        guard self.queue.isEmpty, self.hasRoom, let place = self.choose(for: client) else { return nil }
        if let connection = self.take(at: place, for: client) { return connection }
        self.chosen = (ObjectIdentifier(client), client.exchangeNumber, place)
        return nil
    }

    /// An idle connection to the chosen server.
    private func take(at place: Int, for client: any ConnectionWaiter) -> (any AppConnection)? {
        let pool = self.members[place].pool
        client.upstreamChosen(pool.server)
        return pool.takeIdle(for: client)
    }

    package func connect(for client: any ConnectionWaiter) {
        let chosen = self.chosen.take()
        guard self.queue.isEmpty, self.hasRoom else { return self.enqueue(client) }
        if let chosen, chosen.waiter == ObjectIdentifier(client), chosen.exchange == client.exchangeNumber {
            return self.connect(to: chosen.place, for: client)
        }
        self.connectElsewhere(for: client, otherwise: .upstreamUnreachable)
    }

    package func connectAgain(for client: any ConnectionWaiter, after failed: any AppStream) {
        if let connection = failed as? UpstreamConnection, let place = self.place(of: connection.pool) {
            let bit = self.members[place].bit
            let others = self.members.contains { $0.isServing && $0.bit != bit }
            // A kept connection may only have been closed for its age: a session stays with its server, and no server that
            // is left out is better.
            let isOld = !connection.isNew && !connection.hasAnswered
            if !isOld || others && self.target.settings.balance != .sticky { client.failedServers |= bit }
        }
        self.connect(for: client)
    }

    /// Connects to a server that has not failed for this request.
    ///
    /// - Parameter reason: Why the request fails if there is none.
    func connectElsewhere(for client: any ConnectionWaiter, otherwise reason: Reason) {
        guard let place = self.choose(for: client) else { return client.upstreamFailed(reason) }
        self.connect(to: place, for: client)
    }

    /// Connects to this server. If it cannot be connected to, it has failed for the request.
    private func connect(to place: Int, for client: any ConnectionWaiter) {
        let member = self.members[place]
        client.upstreamChosen(member.pool.server)
        client.failedServers |= member.bit
        if self.open >= self.target.settings.maxConnections {
            // A connection that is kept for another session of the same server goes first.
            let giver = member.pool.hasIdle ? place : self.giver(self.servingWeight)
            if let giver { self.members[giver].pool.closeOldestIdle() }
        }
        member.pool.makeConnection(for: client, in: self)
    }

    package var hasSeveralServers: Bool { true }

    package func takeRetry() -> Bool { self.budget.take(now: self.loop.now) }

    /// The place of a member; nil: a reload has removed it.
    func place(of pool: UpstreamPool) -> Int? {
        let place = pool.place
        return place < self.members.count && self.members[place].pool === pool ? place : nil
    }

    // MARK: The limit of connections

    /// Whether a request can have a connection: an idle one, or one more.
    private var hasRoom: Bool {
        self.open < self.target.settings.maxConnections || self.members.contains { $0.pool.hasIdle }
    }

    /// Called when a connection of some server is about to be made.
    func opens() { self.open += 1 }

    /// Called when a connection of some server has closed or could not be made.
    func released() {
        self.open -= 1
        // Not now: the caller may be in the middle of a change.
        guard !self.queue.isEmpty, !self.isTurnEndDue else { return }
        self.isTurnEndDue = true
        self.loop.tellTurnEnd(self)
    }

    package func turnEnded() {
        self.isTurnEndDue = false
        self.serveQueue()
    }

    /// Gives the connections that have become free to the requests that wait.
    func serveQueue() {
        while !self.queue.isEmpty, self.hasRoom, let client = self.queue.popFirst() { self.serve(client) }
        self.endIfRetired()
    }

    /// Gives a connection to a request that has left the queue.
    private func serve(_ client: any ConnectionWaiter) {
        self.loop.metrics.upstreamQueue(self.queueGauge, -1)
        client.upstreamFree()
        guard let place = self.choose(for: client) else { return client.upstreamFailed(.upstreamUnreachable) }
        if let connection = self.take(at: place, for: client) {
            client.upstreamConnected(connection, isReused: true)
        } else {
            self.connect(to: place, for: client)
        }
    }

    private func enqueue(_ client: any ConnectionWaiter) {
        // For a connection that was returned in this turn a request may always wait.
        let returned = self.members.reduce(0) { $0 + $1.pool.returned }
        guard self.queue.count < max(self.target.settings.maxQueue, returned) else {
            return client.upstreamFailed(.gatewayOverloaded)
        }
        self.queue.append(client)
        self.loop.metrics.upstreamQueue(self.queueGauge, 1)
        client.upstreamBusy()
    }

    package func waiterLeft() {
        self.queue.waiterLeft()
        self.loop.metrics.upstreamQueue(self.queueGauge, -1)
        self.endIfRetired()
    }

    // MARK: The loop

    package func sweep() {
        self.budget.advance(to: self.loop.now)
        for place in self.members.indices {
            let pool = self.members[place].pool
            pool.sweep()
            let inFlight = pool.inFlight
            let change = inFlight - self.members[place].shownInFlight
            if change != 0 {
                self.loop.metrics.serverInFlight(self.members[place].ids, Int64(change))
                self.members[place].shownInFlight = inFlight
            }
            self.watch(place)
        }
    }

    package var reports: [ServerReport] {
        self.members.map { $0.pool.report(isOut: !$0.isServing, ejections: $0.ejections) }
    }

    package func moved(to index: Int) {
        self.index = index
        for member in self.members { member.pool.moved(to: index) }
    }

    package func adopt(_ target: UpstreamTarget, index: Int) -> Bool {
        guard target.isGroup, self.isStrict == (target.settings.reuse == .strict) else { return false }
        self.target = target
        self.index = index
        self.choice = ServerChoice(target.settings.balance, seed: .random(in: .min ... .max))
        self.setMembers()
        return true
    }

    package func retire() {
        self.isRetired = true
        for member in self.members { self.retire(member) }
        self.endIfRetired()
    }

    /// Releases the members when nothing waits for them any more. Requests that connect hold the group.
    private func endIfRetired() {
        guard self.isRetired, self.queue.isEmpty else { return }
        for member in self.members { member.pool.leave() }
        // Their connections are not counted here any more.
        self.open = 0
    }

    /// Ends a member, which shows nothing more.
    private func retire(_ member: Member) {
        member.pool.retire()
        self.loop.metrics.serverInFlight(member.ids, Int64(-member.shownInFlight))
        if member.isShownOut { self.loop.metrics.serverOut(member.ids, -1) }
        if !member.health.isServing { member.pool.server.news.forgets() }
        if self.loop.checksServers { _ = member.pool.server.news.found(isDown: false) }
    }
}
