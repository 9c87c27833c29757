import NIOCore
import Synchronization
import Vocabulary

// Handles servers that come, go, refuse or are replaced, and reports these events.
extension RedisClient {
    func adopt(_ topology: Topology) {
        let endpoints = Set(topology.shards.map(\.endpoint))
        self.writes.keep(only: endpoints)
        let isChange = self.state.withLock { state in
            defer { state.topology = topology }
            state.facts = state.facts.filter { endpoints.contains($0.key) }
            state.refusals = state.refusals.filter { endpoints.contains($0.key) }
            return state.topology != nil && state.topology != topology
        }
        for follower in self.followers.withLock({ $0 }) { follower.topology(topology) }
        if isChange || self.connector.configuration.isCluster { self.notify(.topologyChanged(topology)) }
        let adopted = self.loops.map { loop in self.on(loop) { $0.adopt(topology) } }
        EventLoopFuture.andAllComplete(adopted, on: self.loops[0]).whenComplete { self.endFirstTopology($0) }
    }

    /// Adds to the topology a cluster node that a redirection named. Followers are notified at once, so that they also
    /// receive the ends of sessions from this node.
    func met(_ endpoint: RedisEndpoint) {
        let topology = self.state.withLock { state -> Topology? in
            guard var topology = state.topology, !topology.shards.contains(where: { $0.endpoint == endpoint }) else {
                return nil
            }
            topology.shards.append(Topology.Shard(endpoint: endpoint, slots: []))
            state.topology = topology
            return topology
        }
        guard let topology else { return }
        for follower in self.followers.withLock({ $0 }) { follower.topology(topology) }
    }

    func endFirstTopology(_ result: Result<Void, any Error>) {
        let first = self.state.withLock { state in
            defer { state.firstTopology = nil }
            return state.firstTopology
        }
        first?.completeWith(result)
    }

    func connected(_ endpoint: RedisEndpoint, _ facts: RedisFacts, _ handshake: Duration, loop: Int) {
        // The clock is set before this connection is used for a command.
        self.setClock(by: facts, of: endpoint, roundTrip: handshake)
        let isFirst = self.state.withLock { state in
            state.refusals[endpoint] = nil
            return state.connected[endpoint, default: []].insert(loop).inserted && state.connected[endpoint]?.count == 1
        }
        if isFirst { self.notify(.nodeUp(endpoint)) }
        self.note(facts, of: endpoint)
    }

    func disconnected(_ endpoint: RedisEndpoint, _ cause: RedisError.Cause, _ refusal: RedisServerError?, loop: Int) {
        let (isLast, isNewRefusal, isShutDown) = self.state.withLock { state in
            let wasConnected = state.connected[endpoint]?.remove(loop) != nil
            let isNew = refusal != nil && state.refusals[endpoint]?.code != refusal?.code
            if let refusal { state.refusals[endpoint] = refusal }
            return (wasConnected && state.connected[endpoint]?.isEmpty == true, isNew, state.isShutDown)
        }
        guard !isShutDown else { return }
        if isLast { self.notify(.nodeDown(endpoint, cause)) }
        if let refusal, isNewRefusal { self.notify(.refused(endpoint, refusal)) }
    }

    /// Records the error of a sentinel or cluster node that was asked for the primaries, or of a primary that was asked
    /// for its facts.
    func refused(_ endpoint: RedisEndpoint, _ refusal: RedisServerError) {
        let isNew = self.state.withLock { state in
            defer { state.refusals[endpoint] = refusal }
            return state.refusals[endpoint]?.code != refusal.code
        }
        if isNew { self.notify(.refused(endpoint, refusal)) }
    }

    func replicasShort(_ endpoint: RedisEndpoint) {
        self.notify(.replicasShort(endpoint))
        if self.hasReplicas(endpoint) { self.writes.refused(endpoint, .unconfirmed) }
        self.askForFacts(of: endpoint)
    }

    /// Records that sentinels have begun to promote another server, or have given it up.
    func replacing(_ isUnderWay: Bool) {
        self.onEach { $0.hold(isUnderWay) }
        guard isUnderWay, let endpoint = self.state.withLock({ $0.topology })?.shards.first?.endpoint else { return }
        self.notify(.replacementBegun(endpoint))
    }

    /// Returns the quorum, with the servers that were heard within `time`. Called on the first loop.
    func heard(within time: Duration) -> Quorum? {
        self.source.heard(within: time)
            ?? self.followers.withLock { $0 }.lazy.compactMap { $0.primariesHeard?(time) }.first
    }

    func writeRefused(_ endpoint: RedisEndpoint, _ refusal: RedisServerError) {
        self.meter.countRefusedWrite(refusal.code)
        self.writes.refused(endpoint, refusal)
    }

    /// Writes a key that expires after a millisecond, to learn whether this primary accepts writes.
    func writeNothing(to endpoint: RedisEndpoint) -> EventLoopFuture<RedisReply> {
        let slots = self.state.withLock { $0.topology }?.shards.first { $0.endpoint == endpoint }?.slots ?? []
        let tag = self.isCluster ? RedisNeeds.tag(in: slots) : "check"
        guard let tag else { return self.loops[0].makeFailedFuture(RedisError.notSent(.notConnected)) }
        return self.on(self.loops[0]) { $0.writeNothing(to: endpoint, tag: tag) }.flatMapErrorThrowing { error in
            // After the last replica has left, confirmations are requested for a while. Without a replica, a missing
            // confirmation is no refusal.
            guard case RedisError.unreplicated = error, !self.hasReplicas(endpoint) else { throw error }
            return .null
        }
    }

    /// Returns whether this primary has a replica that could confirm its writes. True if that is not known.
    private func hasReplicas(_ endpoint: RedisEndpoint) -> Bool {
        self.state.withLock { $0.facts[endpoint] }.map { $0.connectedReplicas > 0 } ?? true
    }

    func poll() {
        for shard in self.state.withLock({ $0.topology })?.shards ?? [] { self.askForFacts(of: shard.endpoint) }
    }

    private func askForFacts(of endpoint: RedisEndpoint) {
        let asked = NIODeadline.now()
        self.on(self.loops[0]) { $0.send(RedisCommand("INFO"), to: endpoint) }.whenSuccess { reply in
            let roundTrip = Duration(.now() - asked)
            if case .error(let error) = reply { self.refused(endpoint, error) }
            guard let facts = RedisFacts(reply) else { return }
            self.state.withLock { $0.refusals[endpoint] = nil }
            self.note(facts, of: endpoint)
            if facts.isPrimary { self.setClock(by: facts, of: endpoint, roundTrip: roundTrip) }
            self.onEach { $0.adopt(facts, of: endpoint) }
        }
    }

    /// Stores the facts that a server reports about itself. After a restart or a failover, reports a changed primary.
    private func note(_ facts: RedisFacts, of endpoint: RedisEndpoint) {
        let isNewReign = self.state.withLock { state in
            // With Sentinel, a new primary has another address, so the last facts of any primary are compared.
            let former = state.facts[endpoint] ?? (self.connector.configuration.isCluster ? nil : state.lastFacts)
            state.facts[endpoint] = facts
            state.lastFacts = facts
            return former.map { $0.replicationID != facts.replicationID } ?? false
        }
        if isNewReign { self.notify(.primaryChanged(endpoint)) }
        self.notify(.observed(endpoint, facts))
        guard facts.isPrimary else { return }
        for follower in self.followers.withLock({ $0 }) { follower.reign(endpoint, facts.replicationID) }
    }

    /// Sets the shared clock if this primary is the timekeeper: all gateways use the clock of one primary. If the
    /// primary reports no time, gateways use the clocks of their machines.
    private func setClock(by facts: RedisFacts, of endpoint: RedisEndpoint, roundTrip: Duration) {
        guard self.state.withLock({ $0.topology?.timekeeper }) == endpoint else { return }
        if self.storeClock.set(by: facts.time ?? Clock.system.now(), roundTrip: roundTrip) { self.notify(.clockSet) }
    }

    func notify(_ event: RedisEvent) {
        self.observe(event)
        for follower in self.followers.withLock({ $0 }) { follower.event(event) }
    }
}
