import NIOCore
import Observability
import Settings
package import Transport
import Vocabulary

/// One loop's connections to an app with several servers. It chooses a server for each request, leaves out those that fail,
/// and has the queue and the limits for all of them. Each server's connections are a pool of their own.
package final class ServerGroup: AppPool {
    private struct Member {
        let pool: UpstreamPool
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

    private var target: UpstreamTarget
    /// As in `UpstreamPool`.
    private let loop: PathLoop
    private let transport: TransportLoop
    /// The app's index in the configuration.
    private var index: Int
    private let isStrict: Bool
    private var members: [Member] = []
    /// What the choice looks at, in the order of the members.
    private var loads: [ServerLoad] = []
    private var choice: ServerChoice
    /// How many members are left out.
    private var outCount = 0
    private var budget = RetryBudget()
    private var queue = ConnectionQueue()
    private let queueGauge: GaugeID
    private var isTurnEndDue = false
    private var isRetired = false
    /// The server that `takeIdle` has chosen for a request, which then asks for a new connection.
    private var chosen: (waiter: ObjectIdentifier, exchange: UInt64, place: Int)?
    /// The server that has just failed a request, which may now ask for another.
    private var avoided: Int?

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
        let ids = self.loop.configuration.metrics.servers(of: self.index)
        self.members = zip(self.target.servers, ids).map { server, ids in
            if var member = former.first(where: { $0.pool.goesOn(self.target, with: server) }) {
                member.ids = ids
                return member
            }
            let pool = UpstreamPool(
                target: self.target,
                server: server,
                index: self.index,
                loop: self.loop,
                transport: self.transport
            )
            return Member(pool: pool, ids: ids)
        }
        for (place, member) in self.members.enumerated() {
            member.pool.join(self, at: place, self.target, index: self.index)
        }
        for member in former where !self.members.contains(where: { $0.pool === member.pool }) {
            self.retire(member)
            member.pool.leave()
        }
        self.loads = self.target.servers.map { ServerLoad(share: $0.settings.weight, hash: $0.hash) }
        if self.target.settings.health == nil {
            for place in self.members.indices {
                self.members[place].isDown = false
                _ = self.members[place].pool.server.news.found(isDown: false)
            }
        }
        self.countOut()
    }

    /// Counts the members that are left out, and shows them.
    private func countOut() {
        self.outCount = 0
        for place in self.members.indices {
            let isOut = !self.members[place].isServing
            if isOut { self.outCount += 1 }
            guard isOut != self.members[place].isShownOut else { continue }
            self.members[place].isShownOut = isOut
            self.loop.metrics.serverOut(self.members[place].ids, isOut ? 1 : -1)
        }
    }

    // MARK: Choosing

    @inline(__always)
    private static func bit(_ place: Int) -> UInt64 { 1 << UInt64(truncatingIfNeeded: place) }

    /// The place of the server for a request.
    ///
    /// - Parameter tried: The places of those that have failed for it, as bits.
    /// - Returns: nil: all have failed.
    private func choose(for client: any ConnectionWaiter, tried: UInt64 = 0) -> Int? {
        if self.outCount > 0, let place = self.probe(for: client, tried: tried) { return place }
        for place in self.members.indices {
            self.loads[place].inFlight = self.members[place].pool.inFlight
            self.loads[place].isAvailable = tried & Self.bit(place) == 0 && self.members[place].isServing
        }
        if let place = self.choice.choose(&self.loads, key: client.stickyKey) { return place }
        // None is left that serves: better one that may fail than none.
        for place in self.members.indices { self.loads[place].isAvailable = tried & Self.bit(place) == 0 }
        return self.choice.choose(&self.loads, key: client.stickyKey)
    }

    /// A server that was left out for long enough: this request decides whether it is back. One that can be sent to another
    /// server if it fails is preferred.
    private func probe(for client: any ConnectionWaiter, tried: UInt64) -> Int? {
        let now = self.loop.now
        let limit = client.isRepeatable ? now : now - ServerHealth.probeTime
        let due = self.members.indices.first { place in
            tried & Self.bit(place) == 0 && !self.members[place].isDown
                && self.members[place].health.awaitsProbe(now: limit)
        }
        if let due { self.members[due].health.probe(now: now) }
        return due
    }

    package func takeIdle(for client: any ConnectionWaiter) -> (any AppConnection)? {
        self.budget.count()
        guard let place = self.choose(for: client) else { return nil }
        if let connection = self.members[place].pool.takeIdle(for: client) { return connection }
        self.chosen = (ObjectIdentifier(client), client.exchangeNumber, place)
        return nil
    }

    package func connect(for client: any ConnectionWaiter) {
        let (chosen, avoided) = (self.chosen, self.avoided)
        self.chosen = nil
        self.avoided = nil
        guard self.queue.isEmpty, self.hasRoom else { return self.enqueue(client) }
        if let chosen, chosen.waiter == ObjectIdentifier(client), chosen.exchange == client.exchangeNumber {
            return self.connect(to: chosen.place, for: client, tried: 0)
        }
        self.connectElsewhere(for: client, tried: avoided.map(Self.bit) ?? 0)
    }

    /// Connects to a server that has not failed for this request.
    ///
    /// - Parameter tried: The places of those that have, as bits.
    func connectElsewhere(for client: any ConnectionWaiter, tried: UInt64) {
        self.avoided = nil
        guard let place = self.choose(for: client, tried: tried) else {
            return client.upstreamFailed(.upstreamUnreachable)
        }
        self.connect(to: place, for: client, tried: tried)
    }

    private func connect(to place: Int, for client: any ConnectionWaiter, tried: UInt64) {
        if self.open >= self.target.settings.maxConnections {
            self.members.first { $0.pool.hasIdle }?.pool.closeOldestIdle()
        }
        self.members[place].pool.makeConnection(for: client, tried: tried | Self.bit(place))
    }

    // MARK: Health

    package var hasSeveralServers: Bool { true }

    package func takeRetry() -> Bool { self.budget.take(now: self.loop.now) }

    /// Called with the status of each answer.
    func answered(_ place: Int, _ status: Int) {
        guard place < self.members.count else { return }
        self.loop.metrics.serverAnswered(self.members[place].ids, status: status)
        self.follow(self.members[place].health.answered(status), place, .status(status))
    }

    /// Called when a connect has failed, or a connection has ended before an answer. The request asks for another one within
    /// this turn if it may.
    ///
    /// - Parameter wasKept: The connection had carried other requests, so the server may only have closed it for its age.
    func failed(_ place: Int, _ fault: ServerNotice.Fault, wasKept: Bool) {
        guard place < self.members.count else { return }
        self.loop.metrics.serverAnswered(self.members[place].ids, status: 0)
        self.avoided = wasKept && self.target.settings.balance == .sticky ? nil : place
        let isSuspect = self.members[place].pool.server.news.isOut
        self.follow(self.members[place].health.failed(isSuspect: isSuspect), place, fault)
    }

    private func follow(_ verdict: ServerHealth.Verdict, _ place: Int, _ fault: ServerNotice.Fault) {
        guard !self.isRetired else { return }
        switch verdict {
        case .none: break
        // Never more than half of them, and so never the last one.
        case .unfit where self.outCount + 1 > self.members.count / 2: break
        case .unfit, .stillOut: self.leaveOut(place, fault)
        case .back:
            self.members[place].health.comeBack(now: self.loop.now)
            self.members[place].growsSince = self.loop.now
            self.countOut()
            let server = self.members[place].pool.server
            if server.news.returns(now: self.loop.now) { self.tell(server, nil) }
        }
    }

    private func leaveOut(_ place: Int, _ fault: ServerNotice.Fault) {
        self.members[place].health.leave(now: self.loop.now, percent: self.choice.random(below: 20))
        self.members[place].ejections += 1
        self.countOut()
        self.loop.metrics.serverEjected(self.members[place].ids)
        let server = self.members[place].pool.server
        if server.news.leaves() { self.tell(server, fault) }
    }

    private func tell(_ server: UpstreamServer, _ fault: ServerNotice.Fault?) {
        self.loop.onServerNotice?(
            ServerNotice(upstream: self.target.settings.name, server: server.settings.origin, fault: fault)
        )
    }

    // MARK: The limit of connections

    private var open: Int { self.members.reduce(0) { $0 + $1.pool.open } }

    /// Whether a request can have a connection: an idle one, or one more.
    private var hasRoom: Bool {
        self.open < self.target.settings.maxConnections || self.members.contains { $0.pool.hasIdle }
    }

    /// Called when a connection of some server has closed or could not be made.
    func released() {
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
        if let connection = self.members[place].pool.takeIdle(for: client) {
            client.upstreamConnected(connection, isReused: true)
        } else {
            self.connect(to: place, for: client, tried: 0)
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
            if self.outCount > 0 { self.members[place].health.heard(pool.server.news.backAt) }
            self.grow(place)
            if let health = self.target.settings.health { self.check(place, health) }
        }
    }

    /// Gives a server that has come back more of its share.
    private func grow(_ place: Int) {
        guard let since = self.members[place].growsSince else { return }
        let period = self.target.settings.slowStart.map { TimeAmount($0) } ?? .zero
        if !self.loads[place].grow(self.loop.now - since, of: period) { self.members[place].growsSince = nil }
    }

    /// Takes over what checks have found, and checks again when it is time, on one loop of the process.
    private func check(_ place: Int, _ health: HealthSettings) {
        let server = self.members[place].pool.server
        let isDown = server.news.isDown
        if isDown != self.members[place].isDown {
            self.members[place].isDown = isDown
            if !isDown { self.members[place].growsSince = self.loop.now }
            self.countOut()
        }
        guard self.loop.checksServers, !self.members[place].checks.isRunning,
            self.loop.now >= self.members[place].checks.next
        else { return }
        self.members[place].checks.isRunning = true
        self.members[place].checks.next = self.loop.now + TimeAmount(health.interval)
        self.members[place].pool.check(health) { isGood in self.checked(server, isGood) }
    }

    private func checked(_ server: UpstreamServer, _ isGood: Bool) {
        guard !self.isRetired, let place = self.members.firstIndex(where: { $0.pool.server === server }),
            let health = self.target.settings.health
        else { return }
        self.members[place].checks.isRunning = false
        guard let isDown = self.members[place].checks.add(isGood, health), server.news.found(isDown: isDown) else {
            return
        }
        self.tell(server, isDown ? .check : nil)
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

    /// Releases the members when nothing waits for them any more.
    private func endIfRetired() {
        if self.isRetired, self.queue.isEmpty { for member in self.members { member.pool.leave() } }
    }

    /// Ends a member, which shows nothing more.
    private func retire(_ member: Member) {
        member.pool.retire()
        self.loop.metrics.serverInFlight(member.ids, Int64(-member.shownInFlight))
        if member.isShownOut { self.loop.metrics.serverOut(member.ids, -1) }
    }
}
