import NIOCore
import Sessions

/// Receives ends that other gateways cause, and reports them to the caches of this process. It has one subscription at
/// every primary, all on one loop.
///
/// While any subscription is down, the caches doubt: they ask the store before they use an entry. An end may arrive
/// before or after the answer to a read, so `SessionCache` applies it to the reads under way, too (`Reading`).
final class InvalidationFeed: Sendable {
    private struct State {
        var topology: Topology?
        var subscriptions: [RedisEndpoint: RedisSubscription] = [:]
        /// The primaries with an active subscription.
        var up: Set<RedisEndpoint> = []
        /// The code of each server's last refusal of a subscription, so that a repeated refusal is logged once.
        var refusals: [RedisEndpoint: String] = [:]
        var isTrusted = false
        /// True while most sentinels, or most primaries of a cluster, are silent: a primary may have been replaced.
        var isCutOff = false
        var isShutDown = false

        /// True while the feed receives every end, whichever gateway causes it.
        var hearsAll: Bool {
            !self.isCutOff && !self.subscriptions.isEmpty && self.up.count == self.subscriptions.count
        }
    }

    /// The maximum number of changed keys in one report to the loops. Between two reports, the loops serve requests.
    private static let stride = 1024
    private static let pause = TimeAmount.microseconds(500)

    private let client: RedisClient
    private let caches: SessionCaches
    private let heard: @Sendable (Invalidation) -> Void
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    /// - Parameter heard: Called for each certain end (`Keyspace.isCertainEnd`), and again when the end's key expires.
    init(client: RedisClient, caches: SessionCaches, heard: @escaping @Sendable (Invalidation) -> Void) {
        self.client = client
        self.caches = caches
        self.heard = heard
        self.loop = client.firstLoop
        self.state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: self.loop)
    }

    /// Makes the caches doubt, and begins to follow the client's topology. Must be called once, before `client` starts.
    func start() {
        self.caches.doubt()
        let primariesHeard: @Sendable (Duration) -> Quorum = { [state] time in
            Quorum(at: state.value.subscriptions.values, within: time)
        }
        self.client.follow(
            RedisClient.Follower(
                topology: { [weak self] topology in self?.onLoop { $0.adopt(topology) } },
                event: { [weak self] event in
                    switch event {
                    // Under a new reign, ends that the former primary received may have been lost.
                    case .primaryChanged: self?.onLoop { $0.caches.invalidate([.all]) }
                    case .cutOff: self?.onLoop { $0.cutOff(true) }
                    case .rejoined: self?.onLoop { $0.cutOff(false) }
                    default: break
                    }
                },
                primariesHeard: self.client.isCluster ? primariesHeard : nil
            )
        )
    }

    /// Makes the caches doubt, and ends all subscriptions.
    func shutDown() async throws {
        try await self.loop.flatSubmit {
            self.state.value.isShutDown = true
            self.caches.doubt()
            let closed = self.state.value.subscriptions.values.map { $0.shutDown() }
            self.state.value.subscriptions = [:]
            return EventLoopFuture.andAllComplete(closed, on: self.loop)
        }.get()
    }

    // MARK: Steps, on the loop

    private func onLoop(_ step: @escaping @Sendable (InvalidationFeed) -> Void) {
        // The step is enqueued even on the loop, so that it does not overtake earlier steps from other threads.
        self.loop.execute { step(self) }
    }

    /// Subscribes at the primaries of `topology` and ends all other subscriptions.
    private func adopt(_ topology: Topology) {
        guard !self.state.value.isShutDown, topology != self.state.value.topology else { return }
        self.state.value.topology = topology
        let endpoints = Set(topology.shards.map(\.endpoint))
        for (endpoint, subscription) in self.state.value.subscriptions where !endpoints.contains(endpoint) {
            _ = subscription.shutDown()
            self.state.value.subscriptions[endpoint] = nil
            self.state.value.up.remove(endpoint)
            self.state.value.refusals[endpoint] = nil
        }
        for endpoint in endpoints where self.state.value.subscriptions[endpoint] == nil { self.subscribe(to: endpoint) }
        // If keys have moved between primaries that are already followed, cached sessions are read again once.
        if self.state.value.isTrusted, self.state.value.hearsAll {
            self.caches.doubt()
            self.caches.trust()
        }
        self.judge()
    }

    private func subscribe(to endpoint: RedisEndpoint) {
        let connector = self.client.connector
        let subscription = RedisSubscription(
            to: endpoint,
            SubscriptionPlan(
                greeting: connector.current.greeting,
                demandsPrimary: true,
                prefixes: Keyspace.followedPrefixes,
                channels: [SubscriptionPlan.keyChannel],
                // The handshake waits for up to seven answers in sequence.
                handshakeTimeout: connector.configuration.connectTimeout * 4,
                signInterval: connector.configuration.signInterval,
                patience: connector.configuration.silencePatience
            ),
            over: connector,
            on: self.loop,
            events: SubscriptionHandler.Events(
                up: { [weak self] in self?.up(endpoint) },
                messages: { [weak self] messages in self?.told(messages) },
                ended: { [weak self] _, refusal in self?.down(endpoint, refusal) }
            )
        )
        self.state.value.subscriptions[endpoint] = subscription
        subscription.start()
    }

    private func up(_ endpoint: RedisEndpoint) {
        self.state.value.up.insert(endpoint)
        self.state.value.refusals[endpoint] = nil
        self.judge()
    }

    private func down(_ endpoint: RedisEndpoint, _ refusal: RedisServerError?) {
        self.state.value.up.remove(endpoint)
        self.judge()
        if let refusal, self.state.value.refusals.updateValue(refusal.code, forKey: endpoint) != refusal.code {
            self.client.notify(.refused(endpoint, refusal))
        }
        // The server may no longer be a primary.
        self.client.lookAgain()
    }

    private func cutOff(_ isCutOff: Bool) {
        self.state.value.isCutOff = isCutOff
        self.judge()
    }

    /// Makes the caches trust or doubt, as the state requires.
    private func judge() {
        let hearsAll = self.state.value.hearsAll
        guard hearsAll != self.state.value.isTrusted else { return }
        self.state.value.isTrusted = hearsAll
        if hearsAll { self.caches.trust() } else { self.caches.doubt() }
        self.client.invalidation(isUp: hearsAll)
    }

    private func told(_ messages: [SubscriptionMessage]) {
        var changed: [[UInt8]] = []
        for message in messages {
            switch message.payload {
            case .keys(let keys): changed += keys
            case .allKeys: self.caches.invalidate([.all])
            // Redis itself sends no text on this channel. Another program published it.
            case .text: break
            }
        }
        self.notify(changed[...])
    }

    /// Reports to all loops the ends that changes of these keys mean, up to `stride` keys at a time.
    private func notify(_ keys: ArraySlice<[UInt8]>) {
        var ended: [Invalidation] = []
        for key in keys.prefix(Self.stride) {
            guard let invalidation = Keyspace.ended(byChangeOf: key) else { continue }
            ended.append(invalidation)
            if Keyspace.isCertainEnd(key) { self.heard(invalidation) }
        }
        if !ended.isEmpty { self.caches.invalidate(ended) }
        let rest = keys.dropFirst(Self.stride)
        guard !rest.isEmpty else { return }
        self.loop.scheduleTask(in: Self.pause) { self.notify(rest) }
    }
}
