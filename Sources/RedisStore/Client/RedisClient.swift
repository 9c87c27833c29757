package import NIOCore
import Synchronization
package import Vocabulary

/// Redis for all event loops: each loop has connections of its own to every primary.
package final class RedisClient: Sendable {
    private struct State {
        var topology: Topology?
        /// The primaries' own words, the latest of any loop.
        var facts: [RedisEndpoint: RedisFacts] = [:]
        /// Whatever was heard last, of any primary.
        var lastFacts: RedisFacts?
        /// Loops with a connection that serves.
        var connected: [RedisEndpoint: Set<Int>] = [:]
        /// Why the last connection was refused, where it was.
        var refusals: [RedisEndpoint: RedisServerError] = [:]
        var firstTopology: EventLoopPromise<Void>?
        var poll: RepeatedTask?
        var invalidationIsUp = false
        var isShutDown = false
    }

    /// Who else is told what changes, from any thread; must not block.
    struct Follower: Sendable {
        /// Each topology, the first included, before any command goes by it.
        var topology: @Sendable (Topology) -> Void
        var event: @Sendable (RedisEvent) -> Void
        /// The name of a primary's reign, as often as it is told.
        var reign: @Sendable (RedisEndpoint, String) -> Void = { _, _ in }
        /// How many of a cluster's primaries were heard within this time; asked on the first loop.
        var primariesHeard: (@Sendable (Duration) -> Quorum)?
    }

    /// How often the primaries are asked for their facts.
    private static let pollInterval = TimeAmount.seconds(5)

    package let connector: RedisConnector
    package let meter: RedisMeter
    private let storeClock: StoreClock
    private let source: any TopologySource
    private let observe: @Sendable (RedisEvent) -> Void
    private let routers: [ObjectIdentifier: NIOLoopBoundBox<RedisRouter>]
    private let loops: [any EventLoop]
    private let state = Mutex(State())
    private let followers = Mutex<[Follower]>([])
    private let writes: WriteWatch
    private let quorum: QuorumWatch

    /// A client for the loops of `group`. Nothing is connected before `start()`.
    ///
    /// - Parameters:
    ///   - localClock: What `clock` goes by until a primary has told the time. It should be steady.
    ///   - observe: Told what changes, from any thread; must not block.
    /// - Throws: what NIOSSL says of a certificate, key or authority file that cannot be used.
    package init(
        configuration: RedisConfiguration,
        group: any EventLoopGroup,
        meter: RedisMeter = RedisMeter(),
        localClock: Clock = .steady(),
        observe: @escaping @Sendable (RedisEvent) -> Void = { _ in }
    ) throws {
        let connector = try RedisConnector(configuration)
        let loops = group.makeIterator().map { $0 }
        self.connector = connector
        self.meter = meter
        self.storeClock = StoreClock(local: localClock)
        self.observe = observe
        self.loops = loops
        switch configuration.deployment {
        case .standalone(let endpoint): self.source = FixedTopology(endpoint: endpoint)
        case .sentinel(let sentinels):
            self.source = SentinelTopology(sentinels, over: connector, on: loops[0])
        case .cluster(let seeds): self.source = ClusterTopology(seeds: seeds, over: connector, on: loops[0])
        }
        // The routers tell the client, which does not exist yet.
        let client = Reference()
        var routers: [ObjectIdentifier: NIOLoopBoundBox<RedisRouter>] = [:]
        for (index, loop) in loops.enumerated() {
            let router = RedisRouter(
                over: connector,
                on: loop,
                events: RedisRouter.Events(
                    up: { endpoint, facts, handshake in
                        client.value?.connected(endpoint, facts, handshake, loop: index)
                    },
                    down: { endpoint, cause, refusal in
                        client.value?.disconnected(endpoint, cause, refusal, loop: index)
                    },
                    lookAgain: { client.value?.source.lookAgain() },
                    replicasShort: { endpoint in client.value?.replicasShort(endpoint) },
                    met: { endpoint in client.value?.met(endpoint) },
                    writeRefused: { endpoint, error in client.value?.writeRefused(endpoint, error) }
                )
            )
            routers[ObjectIdentifier(loop)] = NIOLoopBoundBox.makeBoxSendingValue(router, eventLoop: loop)
        }
        self.routers = routers
        self.writes = WriteWatch(
            on: loops[0],
            write: {
                client.value?.writeNothing(to: $0) ?? loops[0].makeFailedFuture(RedisError.notSent(.shuttingDown))
            },
            tell: { client.value?.tell($0) }
        )
        self.quorum = QuorumWatch(
            quorum: { client.value?.heard(within: QuorumWatch.silence) },
            tell: { client.value?.tell($0) }
        )
        client.set(self)
    }

    private final class Reference: Sendable {
        private struct Weak { weak var client: RedisClient? }
        private let target = Mutex(Weak())

        var value: RedisClient? { self.target.withLock { $0.client } }
        func set(_ client: RedisClient) { self.target.withLock { $0.client = client } }
    }

    /// Whether keys are spread over several nodes.
    package var isCluster: Bool { self.connector.configuration.isCluster }

    /// The clock by which what lies in Redis is stamped and judged, at every gateway (`StoreClock`).
    package var clock: Clock { self.storeClock.clock }

    /// How many loops there are.
    package var loopCount: Int { self.loops.count }

    /// How many loops have a connection to every primary.
    package var connectedLoops: Int {
        self.state.withLock { state in
            guard let topology = state.topology else { return 0 }
            return self.loops.indices.count { index in
                topology.shards.allSatisfy { state.connected[$0.endpoint]?.contains(index) ?? false }
            }
        }
    }

    /// How it stands now.
    package var status: RedisStatus {
        self.state.withLock { state in
            RedisStatus(
                loops: self.loops.count,
                nodes: (state.topology?.shards ?? []).map { shard in
                    RedisStatus.Node(
                        address: shard.endpoint.description,
                        connectedLoops: state.connected[shard.endpoint]?.count ?? 0,
                        facts: state.facts[shard.endpoint],
                        refusal: state.refusals[shard.endpoint],
                        writeRefusal: self.writes.refusal(of: shard.endpoint)
                    )
                },
                invalidationIsUp: state.invalidationIsUp,
                cutOff: self.quorum.cutOff
            )
        }
    }

    /// Also tells `follower` what changes. To be called before `start()`.
    func follow(_ follower: Follower) {
        self.followers.withLock { $0.append(follower) }
    }

    /// The loop for what a process needs once.
    var firstLoop: any EventLoop { self.loops[0] }

    /// What was found of the primaries may be out of date.
    func lookAgain() { self.source.lookAgain() }

    /// Whoever listens for what ends elsewhere hears it now, or does not.
    func invalidation(isUp: Bool) {
        self.state.withLock { $0.invalidationIsUp = isUp }
        self.tell(isUp ? .trusted : .doubted)
    }

    /// So many ends that a primary had forgotten were written again.
    func noteRestored(_ count: Int, at endpoint: RedisEndpoint) {
        self.tell(.endsRestored(endpoint, count: count))
    }

    /// Whoever listens was refused by the server.
    func invalidation(refusedBy endpoint: RedisEndpoint, _ refusal: RedisServerError) {
        self.tell(.refused(endpoint, refusal))
    }

    // MARK: Life

    /// Looks for the primaries, begins to connect on every loop, and waits until each has been tried once, or until as
    /// many connect timeouts have passed as that can take. A Redis that is not there is no error: it is tried again and
    /// again.
    package func start() async throws {
        let first = self.loops[0].makePromise(of: Void.self)
        self.state.withLock { $0.firstTopology = first }
        let patience = self.loops[0].scheduleTask(in: TimeAmount(self.connector.configuration.connectTimeout * 4)) {
            self.endFirstTopology(.success(()))
        }
        self.source.start(
            adopt: { self.adopt($0) },
            refused: { self.refused($0, $1) },
            replacing: { self.replacing($0) }
        )
        self.quorum.start(on: self.loops[0])
        try await first.futureResult.get()
        patience.cancel()
        let poll = self.loops[0].scheduleRepeatedTask(
            initialDelay: Self.pollInterval,
            delay: Self.pollInterval
        ) { [weak self] _ in self?.poll() }
        self.state.withLock { $0.poll = poll }
    }

    /// Answers what was asked and closes; commands fail from now on.
    package func shutDown() async throws {
        let poll = self.state.withLock { state in
            state.isShutDown = true
            return state.poll
        }
        poll?.cancel()
        self.writes.shutDown()
        self.quorum.shutDown()
        self.endFirstTopology(.success(()))
        await self.source.shutDown()
        for loop in self.loops { try await self.on(loop) { $0.shutDown() }.get() }
    }

    // MARK: Commands

    /// Sends one command, to the node that serves its first argument. Commands of one tick leave together, in order.
    ///
    /// The future succeeds with the reply, which may be an error reply, or fails with a `RedisError`.
    package func send(_ command: RedisCommand, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        if self.isCutOff { return loop.makeFailedFuture(RedisError.notSent(.cutOff)) }
        return self.metered(command.kind, self.on(loop) { $0.send(command) })
    }

    /// The same without a future, for what every request costs whose session is not in the cache. To be called on `loop`,
    /// where `receiver` is called too, once, maybe before this returns.
    package func send(
        _ command: RedisCommand,
        on loop: any EventLoop,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        guard let router = self.routers[ObjectIdentifier(loop)], !self.isCutOff else {
            return receiver(.failure(.notSent(self.isCutOff ? .cutOff : .notConnected)))
        }
        let start = NIODeadline.now()
        let kind = command.kind
        router.value.send(command) { [meter] result in
            meter.count(kind, RedisMeter.Outcome(result), since: start)
            receiver(result)
        }
    }

    /// The same, but waits at most so long for a connection; only for reading back what became of a lost answer.
    package func sendWhenUp(
        _ command: RedisCommand,
        within patience: Duration,
        on loop: any EventLoop
    ) -> EventLoopFuture<RedisReply> {
        self.on(loop) { $0.becomeUp(key: command.key, within: patience) }.flatMap { self.send(command, on: loop) }
    }

    /// Runs a script. One that is durable is answered when a replica has its work too, where there are replicas; else it
    /// fails with `RedisError.unreplicated`.
    package func evaluate(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        if self.isCutOff { return loop.makeFailedFuture(RedisError.notSent(.cutOff)) }
        return self.metered(call.script.kind, self.on(loop) { $0.evaluate(call) })
    }

    /// Whether nothing is asked now: another server may be the primary without our having heard of it.
    private var isCutOff: Bool { self.quorum.isCutOff }

    // MARK: What happens

    private func adopt(_ topology: Topology) {
        let endpoints = Set(topology.shards.map(\.endpoint))
        self.writes.keep(only: endpoints)
        let isChange = self.state.withLock { state in
            defer { state.topology = topology }
            state.facts = state.facts.filter { endpoints.contains($0.key) }
            state.refusals = state.refusals.filter { endpoints.contains($0.key) }
            return state.topology != nil && state.topology != topology
        }
        for follower in self.followers.withLock({ $0 }) { follower.topology(topology) }
        if isChange || self.connector.configuration.isCluster { self.tell(.topologyChanged(topology)) }
        let adopted = self.loops.map { loop in self.on(loop) { $0.adopt(topology) } }
        EventLoopFuture.andAllComplete(adopted, on: self.loops[0]).whenComplete { self.endFirstTopology($0) }
    }

    /// A node that serves something before any topology says so: whoever must hear of all that ends is told at once.
    private func met(_ endpoint: RedisEndpoint) {
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

    private func endFirstTopology(_ result: Result<Void, any Error>) {
        let first = self.state.withLock { state in
            defer { state.firstTopology = nil }
            return state.firstTopology
        }
        first?.completeWith(result)
    }

    private func connected(_ endpoint: RedisEndpoint, _ facts: RedisFacts, _ handshake: Duration, loop: Int) {
        // Before anything is asked over this connection.
        self.setClock(by: facts, of: endpoint, roundTrip: handshake)
        let isFirst = self.state.withLock { state in
            state.refusals[endpoint] = nil
            return state.connected[endpoint, default: []].insert(loop).inserted && state.connected[endpoint]?.count == 1
        }
        if isFirst { self.tell(.nodeUp(endpoint)) }
        self.note(facts, of: endpoint)
    }

    private func disconnected(
        _ endpoint: RedisEndpoint,
        _ cause: RedisError.Cause,
        _ refusal: RedisServerError?,
        loop: Int
    ) {
        let (isLast, isNewRefusal, isShutDown) = self.state.withLock { state in
            let wasConnected = state.connected[endpoint]?.remove(loop) != nil
            let isNew = refusal != nil && state.refusals[endpoint]?.code != refusal?.code
            if let refusal { state.refusals[endpoint] = refusal }
            return (wasConnected && state.connected[endpoint]?.isEmpty == true, isNew, state.isShutDown)
        }
        guard !isShutDown else { return }
        if isLast { self.tell(.nodeDown(endpoint, cause)) }
        if let refusal, isNewRefusal { self.tell(.refused(endpoint, refusal)) }
    }

    /// A sentinel, or a node of a cluster, has not told who the primaries are; or a primary nothing of itself.
    private func refused(_ endpoint: RedisEndpoint, _ refusal: RedisServerError) {
        let isNew = self.state.withLock { state in
            defer { state.refusals[endpoint] = refusal }
            return state.refusals[endpoint]?.code != refusal.code
        }
        if isNew { self.tell(.refused(endpoint, refusal)) }
    }

    private func replicasShort(_ endpoint: RedisEndpoint) {
        self.tell(.replicasShort(endpoint))
        if self.hasReplicas(endpoint) { self.writes.refused(endpoint, .unconfirmed) }
        self.askForFacts(of: endpoint)
    }

    /// Sentinels make another server the primary, or have given it up.
    private func replacing(_ isUnderWay: Bool) {
        for loop in self.loops {
            _ = self.on(loop) { router in
                router.hold(isUnderWay)
                return loop.makeSucceededVoidFuture()
            }
        }
        guard isUnderWay, let endpoint = self.state.withLock({ $0.topology })?.shards.first?.endpoint else { return }
        self.tell(.replacementBegun(endpoint))
    }

    /// On the first loop.
    private func heard(within time: Duration) -> Quorum? {
        self.source.heard(within: time)
            ?? self.followers.withLock { $0 }.lazy.compactMap { $0.primariesHeard?(time) }.first
    }

    private func writeRefused(_ endpoint: RedisEndpoint, _ refusal: RedisServerError) {
        self.meter.countRefusedWrite(refusal.code)
        self.writes.refused(endpoint, refusal)
    }

    /// Writes to this primary what is gone after a millisecond, to see whether it takes it.
    private func writeNothing(to endpoint: RedisEndpoint) -> EventLoopFuture<RedisReply> {
        let slots = self.state.withLock { $0.topology }?.shards.first { $0.endpoint == endpoint }?.slots ?? []
        let tag = self.isCluster ? RedisNeeds.tag(in: slots) : "check"
        guard let tag else { return self.loops[0].makeFailedFuture(RedisError.notSent(.notConnected)) }
        return self.on(self.loops[0]) { $0.writeNothing(to: endpoint, tag: tag) }.flatMapErrorThrowing { error in
            // Without replicas it is asked for confirmations no longer than a promotion takes.
            guard case RedisError.unreplicated = error, !self.hasReplicas(endpoint) else { throw error }
            return .null
        }
    }

    /// Whether a replica is in step with it that could confirm its writes, as far as is known.
    private func hasReplicas(_ endpoint: RedisEndpoint) -> Bool {
        self.state.withLock { $0.facts[endpoint] }.map { $0.connectedReplicas > 0 } ?? true
    }

    private func poll() {
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
            for loop in self.loops {
                self.on(loop) { router in
                    router.adopt(facts, of: endpoint)
                    return loop.makeSucceededVoidFuture()
                }.whenComplete { _ in }
            }
        }
    }

    /// Keeps what a primary says of itself. Under another reign than before, whatever was known of it is in doubt.
    private func note(_ facts: RedisFacts, of endpoint: RedisEndpoint) {
        let isNewReign = self.state.withLock { state in
            // Sentinel's primary may have moved here from another address: there is one shard, and one reign.
            let former = state.facts[endpoint] ?? (self.connector.configuration.isCluster ? nil : state.lastFacts)
            state.facts[endpoint] = facts
            state.lastFacts = facts
            return former.map { $0.replicationID != facts.replicationID } ?? false
        }
        if isNewReign { self.tell(.primaryChanged(endpoint)) }
        self.tell(.observed(endpoint, facts))
        guard facts.isPrimary else { return }
        for follower in self.followers.withLock({ $0 }) { follower.reign(endpoint, facts.replicationID) }
    }

    /// The primaries of a cluster have a clock each: all gateways go by the same one's. Where that does not tell the time,
    /// they go by what they have in common nevertheless, NTP.
    private func setClock(by facts: RedisFacts, of endpoint: RedisEndpoint, roundTrip: Duration) {
        guard self.state.withLock({ $0.topology?.timekeeper }) == endpoint else { return }
        self.storeClock.set(by: facts.time ?? Clock.system.now(), roundTrip: roundTrip)
    }

    private func tell(_ event: RedisEvent) {
        self.observe(event)
        for follower in self.followers.withLock({ $0 }) { follower.event(event) }
    }

    // MARK: Steps

    private func metered(
        _ kind: RedisMeter.Kind,
        _ reply: EventLoopFuture<RedisReply>
    ) -> EventLoopFuture<RedisReply> {
        let start = NIODeadline.now()
        reply.whenComplete { [meter] result in
            meter.count(kind, RedisMeter.Outcome(result.mapError(RedisError.of)), since: start)
        }
        return reply
    }

    private func on<Answer: Sendable>(
        _ loop: any EventLoop,
        _ step: @escaping @Sendable (RedisRouter) -> EventLoopFuture<Answer>
    ) -> EventLoopFuture<Answer> {
        guard let router = self.routers[ObjectIdentifier(loop)] else {
            return loop.makeFailedFuture(RedisError.notSent(.notConnected))
        }
        if loop.inEventLoop { return step(router.value) }
        return loop.flatSubmit { step(router.value) }
    }
}
