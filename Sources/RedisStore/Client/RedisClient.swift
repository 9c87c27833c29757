package import NIOCore
import Synchronization
package import Vocabulary

/// The Redis client of all event loops: each loop has its own connections to every primary.
package final class RedisClient: Sendable {
    struct State {
        var topology: Topology?
        /// The facts that each primary last reported to any loop.
        var facts: [RedisEndpoint: RedisFacts] = [:]
        /// The facts that any primary last reported.
        var lastFacts: RedisFacts?
        /// The loops with a usable connection to each primary.
        var connected: [RedisEndpoint: Set<Int>] = [:]
        /// The error with which each server last refused the gateway, until the server answers again.
        var refusals: [RedisEndpoint: RedisServerError] = [:]
        var firstTopology: EventLoopPromise<Void>?
        var poll: RepeatedTask?
        var invalidationIsUp = false
        var isShutDown = false
    }

    /// An additional listener for changes. Called from any thread. It must not block.
    struct Follower: Sendable {
        /// Receives each topology, including the first, before any command uses it.
        var topology: @Sendable (Topology) -> Void
        var event: @Sendable (RedisEvent) -> Void = { _ in }
        /// Receives the replication id of a primary each time that it is reported.
        var reign: @Sendable (RedisEndpoint, String) -> Void = { _, _ in }
        /// Returns how many primaries of a cluster were heard within this time. Called on the first loop.
        var primariesHeard: (@Sendable (Duration) -> Quorum)?
    }

    /// The interval at which each primary is asked for its facts.
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

    /// Creates a client for the loops of `group`. It does not connect before `start()`.
    ///
    /// - Parameters:
    ///   - localClock: The clock until a primary has reported its time. It should be monotonic.
    ///   - observe: Called with each change, from any thread. It must not block.
    /// - Throws: An error of NIOSSL for a certificate, key or authority file that cannot be used.
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
        // The routers report to the client, which does not exist yet.
        let client = Reference()
        var routers: [ObjectIdentifier: NIOLoopBoundBox<RedisRouter>] = [:]
        for (index, loop) in loops.enumerated() {
            let router = RedisRouter(of: client, index: index, over: connector, on: loop)
            routers[ObjectIdentifier(loop)] = NIOLoopBoundBox.makeBoxSendingValue(router, eventLoop: loop)
        }
        self.routers = routers
        self.writes = WriteWatch(
            on: loops[0],
            write: {
                client.value?.writeNothing(to: $0) ?? loops[0].makeFailedFuture(RedisError.notSent(.shuttingDown))
            },
            notify: { client.value?.notify($0) }
        )
        self.quorum = QuorumWatch(
            quorum: { client.value?.heard(within: QuorumWatch.silence) },
            notify: { client.value?.notify($0) }
        )
        client.set(self)
    }

    /// A reference to the client for objects that are made before the client and report to it.
    final class Reference: Sendable {
        private struct Weak { weak var client: RedisClient? }
        private let target = Mutex(Weak())

        var value: RedisClient? { self.target.withLock { $0.client } }
        func set(_ client: RedisClient) { self.target.withLock { $0.client = client } }
    }

    /// True if keys are spread over several nodes.
    package var isCluster: Bool { self.connector.configuration.isCluster }

    /// The clock for everything that is stored in Redis. All gateways have the same time (`StoreClock`).
    package var clock: Clock { self.storeClock.clock }

    /// True once the clock shows the time of a primary.
    package var knowsTime: Bool { self.storeClock.isKnown }

    /// The number of loops that have a connection to every primary.
    package var connectedLoops: Int {
        self.state.withLock { state in
            guard let topology = state.topology else { return 0 }
            return self.loops.indices.count { index in
                topology.shards.allSatisfy { state.connected[$0.endpoint]?.contains(index) ?? false }
            }
        }
    }

    /// The current state of the connections and the primaries.
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

    /// Also reports changes to `follower`. Must be called before `start()`.
    func follow(_ follower: Follower) {
        self.followers.withLock { $0.append(follower) }
    }

    /// The loop for work that is done once per process.
    var firstLoop: any EventLoop { self.loops[0] }

    /// Looks for the primaries again, because the known ones may be outdated.
    func lookAgain() { self.source.lookAgain() }

    /// Records whether the ends of sessions at other gateways are received.
    func invalidation(isUp: Bool) {
        self.state.withLock { $0.invalidationIsUp = isUp }
        self.notify(isUp ? .trusted : .doubted)
    }

    // MARK: Life

    /// Looks for the primaries, starts to connect on every loop, and waits until each loop has tried once, at most for
    /// four connect timeouts. An unreachable Redis is not an error: the loops try again.
    package func start() async throws {
        let first = self.loops[0].makePromise(of: Void.self)
        self.state.withLock { $0.firstTopology = first }
        let patience = self.loops[0].scheduleTask(in: TimeAmount(self.connector.configuration.connectTimeout * 4)) {
            self.endFirstTopology(.success(()))
        }
        self.source.start(for: self)
        self.quorum.start(on: self.loops[0])
        try await first.futureResult.get()
        patience.cancel()
        let poll = self.loops[0].scheduleRepeatedTask(
            initialDelay: Self.pollInterval,
            delay: Self.pollInterval
        ) { [weak self] _ in self?.poll() }
        self.state.withLock { $0.poll = poll }
    }

    /// Waits for the answers to commands that were already sent, and then closes. Later commands fail.
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

    /// Adopts the users and passwords of another configuration. Existing connections authenticate again. If a server
    /// rejects the new password, its connection stays authenticated, and `observe` is called.
    package func adoptCredentials(of configuration: RedisConfiguration) {
        self.connector.adoptCredentials(of: configuration)
        self.onEach { $0.signInAgain() }
    }

    // MARK: Commands

    /// Sends a command to the node that serves its first argument. Called on `loop`. `receiver` is called once with the
    /// reply or an error, on `loop`, maybe before this returns. A receiver is cheaper than a future, and every request
    /// with an uncached session sends a command.
    package func send(
        _ command: RedisCommand,
        on loop: any EventLoop,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        guard let router = self.router(of: loop, receiver) else { return }
        router.send(command, self.metered(command.kind, receiver))
    }

    /// Waits at most `patience` for a connection for the command. Used only to learn the outcome of a command whose
    /// answer was lost.
    func becomeUp(
        for command: RedisCommand,
        within patience: Duration,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        self.on(loop) { $0.becomeUp(key: command.key, within: patience) }
    }

    /// Runs a script on the node that serves its keys. If there are replicas, a durable script waits until one has its
    /// writes, and fails with `RedisError.unreplicated` if none confirms them.
    package func evaluate(
        _ call: ScriptCall,
        on loop: any EventLoop,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        guard let router = self.router(of: loop, receiver) else { return }
        router.evaluate(call, self.metered(call.script.kind, receiver))
    }

    // MARK: Steps

    /// Returns the router of `loop`. If nothing can be sent now, reports that to `receiver` and returns `nil`.
    private func router(of loop: any EventLoop, _ receiver: RedisConnectionHandler.Receiver) -> RedisRouter? {
        let isCutOff = self.quorum.isCutOff
        if !isCutOff, let router = self.routers[ObjectIdentifier(loop)] { return router.value }
        receiver(.failure(.notSent(isCutOff ? .cutOff : .notConnected)))
        return nil
    }

    /// Returns a receiver that measures the call, and calls `receiver`. If the call is traced, records it in the trace,
    /// and calls `receiver` within the trace.
    private func metered(
        _ kind: RedisMeter.Kind,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) -> RedisConnectionHandler.Receiver {
        let (start, trace) = (NIODeadline.now(), CallTrace.current)
        return { [meter] result in
            let (outcome, end) = (RedisMeter.Outcome(result), NIODeadline.now())
            meter.count(kind, outcome, nanoseconds: Int((end - start).nanoseconds))
            if case .success(.error(let error)) = result { meter.note(error) }
            guard let trace else { return receiver(result) }
            trace.note(
                TracedCall(
                    .store(operation: kind.label),
                    for: kind.label,
                    began: start.uptimeNanoseconds,
                    ended: end.uptimeNanoseconds,
                    failure: outcome == .ok ? nil : outcome.label
                )
            )
            CallTrace.with(trace) { receiver(result) }
        }
    }

    /// Calls `step` with the router of each loop, on that loop.
    func onEach(_ step: @escaping @Sendable (RedisRouter) -> Void) {
        for loop in self.loops {
            _ = self.on(loop) { router in
                step(router)
                return loop.makeSucceededVoidFuture()
            }
        }
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
