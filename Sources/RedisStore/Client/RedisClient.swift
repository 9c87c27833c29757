package import NIOCore
import Synchronization
package import Vocabulary

/// Redis for all event loops: each loop has connections of its own to every primary.
package final class RedisClient: Sendable {
    struct State {
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
    let storeClock: StoreClock
    let source: any TopologySource
    let observe: @Sendable (RedisEvent) -> Void
    private let routers: [ObjectIdentifier: NIOLoopBoundBox<RedisRouter>]
    let loops: [any EventLoop]
    let state = Mutex(State())
    let followers = Mutex<[Follower]>([])
    let writes: WriteWatch
    let quorum: QuorumWatch

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

    func on<Answer: Sendable>(
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
