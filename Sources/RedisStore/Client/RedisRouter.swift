internal import NIOCore

/// One loop's connections to all primaries. It sends each command to the node that serves its key, and follows a
/// cluster that moves slots. Confined to its loop.
final class RedisRouter {
    /// What the client is told, on the loop.
    struct Events {
        /// With the facts, and the duration of the handshake that asked for them.
        var up: (RedisEndpoint, RedisFacts, Duration) -> Void
        var down: (RedisEndpoint, RedisError.Cause, RedisServerError?) -> Void
        /// What is known of the primaries is out of date.
        var lookAgain: () -> Void
        var replicasShort: (RedisEndpoint) -> Void
        /// A redirection has named a node that is in no topology yet.
        var met: (RedisEndpoint) -> Void
        var writeRefused: (RedisEndpoint, RedisServerError) -> Void
    }

    /// How many redirections in a row one command follows before the redirection is its answer.
    private static let maxRedirections = 4
    /// Redirections create no more nodes than this; a cluster has at most about 1,000 (Redis Cluster specification).
    private static let maxNodes = 1000
    /// The pause between two attempts of a command whose keys a cluster is moving.
    private static let migrationPause = TimeAmount.milliseconds(10)

    private let loop: any EventLoop
    private let connector: RedisConnector
    private let events: Events
    private var topology: Topology?
    /// The nodes of the topology, and those that redirections have named since.
    private var nodes: [RedisEndpoint: RedisNode] = [:]
    /// The only node, where there is one shard; then no slot is computed.
    private var onlyNode: RedisNode?
    private var nodeOfSlot: [RedisNode?] = []
    private var isShutDown = false

    init(over connector: RedisConnector, on loop: any EventLoop, events: Events) {
        self.connector = connector
        self.loop = loop
        self.events = events
    }

    // MARK: Topology

    /// Uses these primaries. The future succeeds when each new node has been tried once.
    func adopt(_ topology: Topology) -> EventLoopFuture<Void> {
        guard !self.isShutDown else { return self.loop.makeSucceededVoidFuture() }
        self.topology = topology
        var attempts: [EventLoopFuture<Void>] = []
        var nodeOfSlot = [RedisNode?](repeating: nil, count: topology.shards.count > 1 ? Topology.slotCount : 0)
        var current: Set<RedisEndpoint> = []
        for shard in topology.shards {
            current.insert(shard.endpoint)
            let (node, attempt) = self.node(at: shard.endpoint)
            if let attempt { attempts.append(attempt) }
            if !nodeOfSlot.isEmpty {
                for slots in shard.slots { for slot in slots { nodeOfSlot[Int(slot)] = node } }
            }
        }
        for (endpoint, node) in self.nodes where !current.contains(endpoint) {
            self.nodes[endpoint] = nil
            _ = node.shutDown()
            self.events.down(endpoint, .replaced, nil)
        }
        self.nodeOfSlot = nodeOfSlot
        self.onlyNode = topology.shards.count == 1 ? self.nodes[topology.shards[0].endpoint] : nil
        return EventLoopFuture.andAllComplete(attempts, on: self.loop)
    }

    /// Takes what a server reports.
    func adopt(_ facts: RedisFacts, of endpoint: RedisEndpoint) {
        self.nodes[endpoint]?.adopt(facts)
    }

    /// The node at this endpoint, with its first attempt to connect. It is made and started if there is none yet.
    private func node(at endpoint: RedisEndpoint) -> (node: RedisNode, attempt: EventLoopFuture<Void>?) {
        if let node = self.nodes[endpoint] { return (node, nil) }
        let router = NIOLoopBound(self, eventLoop: self.loop)
        let node = RedisNode(
            at: endpoint,
            over: self.connector,
            on: self.loop,
            events: RedisNode.Events(
                up: { facts, handshake in
                    router.value.nodes[endpoint]?.connected(facts)
                    router.value.events.up(endpoint, facts, handshake)
                },
                down: { cause, refusal in router.value.lost(endpoint, cause, refusal) },
                misplaced: { router.value.events.lookAgain() },
                replicasShort: { router.value.events.replicasShort(endpoint) },
                writeRefused: { router.value.events.writeRefused(endpoint, $0) }
            )
        )
        self.nodes[endpoint] = node
        return (node, node.start())
    }

    private func lost(_ endpoint: RedisEndpoint, _ cause: RedisError.Cause, _ refusal: RedisServerError?) {
        self.events.down(endpoint, cause, refusal)
        self.events.lookAgain()
        // A node that only a redirection named is not tried again: the slots are where they were before.
        if let topology = self.topology, !topology.shards.contains(where: { $0.endpoint == endpoint }) {
            _ = self.adopt(topology)
        }
    }

    // MARK: Commands

    /// Sends the command to the node that serves its key, or to any node when it has no key.
    func send(_ command: RedisCommand) -> EventLoopFuture<RedisReply> {
        self.route(command.key) { node, asking, deadline in node.send(command, asking: asking, deadline: deadline) }
    }

    /// The same without a future, where no redirection is possible.
    func send(_ command: RedisCommand, _ receiver: @escaping RedisConnectionHandler.Receiver) {
        guard !self.connector.configuration.isCluster, let node = self.onlyNode else {
            return self.send(command).assumeIsolated().whenComplete { receiver($0.mapError(RedisError.of)) }
        }
        node.send(command, deadline: node.newDeadline, receiver)
    }

    /// Runs the script on the node that serves its keys.
    func evaluate(_ call: ScriptCall, _ receiver: @escaping RedisConnectionHandler.Receiver) {
        if !self.connector.configuration.isCluster, let node = self.onlyNode {
            return node.evaluate(call, asking: false, deadline: node.newDeadline, receiver)
        }
        let loop = self.loop
        self.route(call.keys.first?[...]) { node, asking, deadline in
            loop.receiving { node.evaluate(call, asking: asking, deadline: deadline, $0) }
        }.assumeIsolated().whenComplete { receiver($0.mapError(RedisError.of)) }
    }

    /// Succeeds once there is a connection to the node that serves `key`.
    func becomeUp(key: ArraySlice<UInt8>?, within patience: Duration) -> EventLoopFuture<Void> {
        guard let node = self.node(for: key) else { return self.notConnected() }
        return node.becomeUp(within: patience)
    }

    /// Sends the command to one node, whatever slots it serves.
    func send(_ command: RedisCommand, to endpoint: RedisEndpoint) -> EventLoopFuture<RedisReply> {
        guard let node = self.nodes[endpoint] else { return self.notConnected() }
        return node.send(command, asking: false, deadline: node.newDeadline)
    }

    /// Tries whether the node takes writes.
    func writeNothing(to endpoint: RedisEndpoint, tag: String) -> EventLoopFuture<RedisReply> {
        self.nodes[endpoint]?.writeNothing(tag: tag) ?? self.notConnected()
    }

    /// Another server is being made the primary in place of the known ones (false: that was given up).
    func hold(_ isHeld: Bool) {
        for node in self.nodes.values { node.hold(isHeld) }
    }

    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        let nodes = self.nodes
        self.nodes = [:]
        self.nodeOfSlot = []
        self.onlyNode = nil
        let ends = nodes.values.map { $0.shutDown() }
        for endpoint in nodes.keys { self.events.down(endpoint, .shuttingDown, nil) }
        return EventLoopFuture.andAllComplete(ends, on: self.loop)
    }

    // MARK: Steps

    private typealias Step = (RedisNode, _ asking: Bool, NIODeadline) -> EventLoopFuture<RedisReply>

    private func node(for key: ArraySlice<UInt8>?) -> RedisNode? {
        if let node = self.onlyNode { return node }
        guard !self.nodeOfSlot.isEmpty else { return nil }
        guard let key else { return self.nodeOfSlot.lazy.compactMap { $0 }.first }
        return self.nodeOfSlot[HashSlot.of(key)]
    }

    private func notConnected<Answer: Sendable>() -> EventLoopFuture<Answer> {
        self.loop.makeFailedFuture(RedisError.notSent(self.isShutDown ? .shuttingDown : .notConnected))
    }

    private func route(_ key: ArraySlice<UInt8>?, _ step: @escaping Step) -> EventLoopFuture<RedisReply> {
        guard let node = self.node(for: key) else {
            self.events.lookAgain()
            return self.notConnected()
        }
        let deadline = node.newDeadline
        let reply = step(node, false, deadline)
        guard self.connector.configuration.isCluster else { return reply }
        return self.following(reply, of: node, key, deadline, redirections: 0, step)
    }

    /// Sends a redirected command to the right node. A command that was answered with a redirection was not carried
    /// out.
    private func following(
        _ reply: EventLoopFuture<RedisReply>,
        of node: RedisNode,
        _ key: ArraySlice<UInt8>?,
        _ deadline: NIODeadline,
        redirections: Int,
        _ step: @escaping Step
    ) -> EventLoopFuture<RedisReply> {
        let context = NIOLoopBound((self, node, step), eventLoop: self.loop)
        return reply.flatMap { reply in
            let (router, node, _) = context.value
            guard case .error(let error) = reply else { return router.loop.makeSucceededFuture(reply) }
            if ["MOVED", "CLUSTERDOWN"].contains(error.code) { router.events.lookAgain() }
            if let redirection = Redirection(error, from: node.endpoint) {
                guard redirections < Self.maxRedirections, let target = router.target(of: redirection),
                    let patience = router.patience(until: deadline)
                else { return router.loop.makeSucceededFuture(reply) }
                let bound = NIOLoopBound(target, eventLoop: router.loop)
                // A new node: connecting takes less time than the command has.
                let isUp = target.isUp ? router.loop.makeSucceededVoidFuture() : target.becomeUp(within: patience)
                return isUp.flatMap {
                    let (router, _, step) = context.value
                    let again = step(bound.value, !redirection.isMoved, deadline)
                    return router.following(again, of: bound.value, key, deadline, redirections: redirections + 1, step)
                }
            }
            // TRYAGAIN: some of the keys have been moved and others have not, or do not exist.
            guard error.code == "TRYAGAIN", router.patience(until: deadline) != nil else {
                return router.loop.makeSucceededFuture(reply)
            }
            let retry = router.loop.makePromise(of: RedisReply.self)
            router.loop.scheduleTask(in: Self.migrationPause) {
                let (router, node, step) = context.value
                let serving = router.node(for: key) ?? node
                let again = step(serving, false, deadline)
                router.following(again, of: serving, key, deadline, redirections: 0, step).cascade(to: retry)
            }
            return retry.futureResult
        }
    }

    /// How long a command may still wait before it is sent again; nil: no longer. Half of the remaining time is kept
    /// for the answer, because a command that times out ends the connection that others use.
    private func patience(until deadline: NIODeadline) -> Duration? {
        let reserve = TimeAmount(self.connector.configuration.commandTimeout / 2)
        let left = (deadline - reserve - .now()).nanoseconds
        return left > 0 ? .nanoseconds(left) : nil
    }

    /// The node that a redirection names. A moved slot is recorded at once; the whole map is asked for later.
    private func target(of redirection: Redirection) -> RedisNode? {
        guard !self.isShutDown, self.nodes[redirection.endpoint] != nil || self.nodes.count < Self.maxNodes else {
            return nil
        }
        // A node without slots is in no topology. While it gets its first slots, only ASK names it.
        if self.nodes[redirection.endpoint] == nil { self.events.met(redirection.endpoint) }
        let (node, _) = self.node(at: redirection.endpoint)
        guard redirection.isMoved else { return node }
        if self.nodeOfSlot.isEmpty {
            self.nodeOfSlot = [RedisNode?](repeating: self.onlyNode, count: Topology.slotCount)
            self.onlyNode = nil
        }
        self.nodeOfSlot[redirection.slot] = node
        return node
    }
}
