internal import NIOCore

/// One loop's way to every primary: sends each command to the node that serves its key, and follows a cluster that moves
/// slots. Confined to its loop.
final class RedisRouter {
    /// What the router tells the client, on the loop.
    struct Events {
        var up: (RedisEndpoint, RedisFacts) -> Void
        var down: (RedisEndpoint, RedisError.Cause, RedisServerError?) -> Void
        /// What is known of the primaries is out of date.
        var lookAgain: () -> Void
        var replicasShort: (RedisEndpoint) -> Void
    }

    /// How often one command is sent on before its redirection counts as its answer.
    private static let maxRedirections = 4
    /// Between two tries of a command whose keys a cluster is moving.
    private static let migrationPause = TimeAmount.milliseconds(10)

    private let loop: any EventLoop
    private let connector: RedisConnector
    private let events: Events
    private var nodes: [RedisEndpoint: RedisNode] = [:]
    /// The only node, where there is one shard: then no slot is computed.
    private var onlyNode: RedisNode?
    private var nodeOfSlot: [RedisNode?] = []
    private var isShutDown = false

    init(over connector: RedisConnector, on loop: any EventLoop, events: Events) {
        self.connector = connector
        self.loop = loop
        self.events = events
    }

    // MARK: Topology

    /// Takes these primaries; the future succeeds when each new node has been tried once.
    func adopt(_ topology: Topology) -> EventLoopFuture<Void> {
        guard !self.isShutDown else { return self.loop.makeSucceededVoidFuture() }
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
        }
        self.nodeOfSlot = nodeOfSlot
        self.onlyNode = topology.shards.count == 1 ? self.nodes[topology.shards[0].endpoint] : nil
        return EventLoopFuture.andAllComplete(attempts, on: self.loop)
    }

    /// Takes what a server says of itself.
    func adopt(_ facts: RedisFacts, of endpoint: RedisEndpoint) {
        self.nodes[endpoint]?.adopt(facts)
    }

    /// The node at this endpoint, made and started if there is none yet; then with its first attempt.
    private func node(at endpoint: RedisEndpoint) -> (node: RedisNode, attempt: EventLoopFuture<Void>?) {
        if let node = self.nodes[endpoint] { return (node, nil) }
        let router = NIOLoopBound(self, eventLoop: self.loop)
        let node = RedisNode(
            at: endpoint,
            over: self.connector,
            on: self.loop,
            events: RedisNode.Events(
                up: { facts in
                    router.value.nodes[endpoint]?.adopt(facts)
                    router.value.events.up(endpoint, facts)
                },
                down: { cause, refusal in
                    router.value.events.down(endpoint, cause, refusal)
                    router.value.events.lookAgain()
                },
                misplaced: { router.value.events.lookAgain() },
                replicasShort: { router.value.events.replicasShort(endpoint) }
            )
        )
        self.nodes[endpoint] = node
        return (node, node.start())
    }

    // MARK: Commands

    /// Sends the command to the node that serves `key`; nil: to any.
    func send(_ command: RedisCommand, key: [UInt8]?) -> EventLoopFuture<RedisReply> {
        self.route(key) { node, asking, deadline in node.send(command, asking: asking, deadline: deadline) }
    }

    /// Runs the script on the node that serves its keys.
    func evaluate(_ call: ScriptCall) -> EventLoopFuture<RedisReply> {
        self.route(call.keys.first) { node, asking, deadline in
            node.evaluate(call, asking: asking, deadline: deadline)
        }
    }

    /// Succeeds once there is a connection to the node that serves `key`.
    func becomeUp(key: [UInt8]?, within patience: Duration) -> EventLoopFuture<Void> {
        guard let node = self.node(for: key) else { return self.notConnected() }
        return node.becomeUp(within: patience)
    }

    /// Asks one node, whatever it serves.
    func send(_ command: RedisCommand, to endpoint: RedisEndpoint) -> EventLoopFuture<RedisReply> {
        guard let node = self.nodes[endpoint] else { return self.notConnected() }
        return node.send(command, asking: false, deadline: node.newDeadline)
    }

    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        return EventLoopFuture.andAllComplete(self.nodes.values.map { $0.shutDown() }, on: self.loop)
    }

    // MARK: Steps

    private typealias Step = (RedisNode, _ asking: Bool, NIODeadline) -> EventLoopFuture<RedisReply>

    private func node(for key: [UInt8]?) -> RedisNode? {
        if let node = self.onlyNode { return node }
        guard !self.nodeOfSlot.isEmpty else { return nil }
        guard let key else { return self.nodeOfSlot.lazy.compactMap { $0 }.first }
        return self.nodeOfSlot[HashSlot.of(key)]
    }

    private func notConnected<Answer: Sendable>() -> EventLoopFuture<Answer> {
        self.loop.makeFailedFuture(RedisError.notSent(self.isShutDown ? .shuttingDown : .notConnected))
    }

    private func route(_ key: [UInt8]?, _ step: @escaping Step) -> EventLoopFuture<RedisReply> {
        guard let node = self.node(for: key) else {
            self.events.lookAgain()
            return self.notConnected()
        }
        let deadline = node.newDeadline
        let reply = step(node, false, deadline)
        guard self.connector.configuration.isCluster else { return reply }
        return self.following(reply, of: node, key, deadline, redirections: 0, step)
    }

    /// Sends what was redirected to where it belongs. Whatever is answered with a redirection has not been done.
    private func following(
        _ reply: EventLoopFuture<RedisReply>,
        of node: RedisNode,
        _ key: [UInt8]?,
        _ deadline: NIODeadline,
        redirections: Int,
        _ step: @escaping Step
    ) -> EventLoopFuture<RedisReply> {
        let context = NIOLoopBound((self, node, step), eventLoop: self.loop)
        return reply.flatMap { reply in
            let (router, node, step) = context.value
            guard case .error(let error) = reply, redirections < Self.maxRedirections else {
                return router.loop.makeSucceededFuture(reply)
            }
            if let redirection = Redirection(error, from: node.endpoint) {
                guard let target = router.target(of: redirection), target.isUp else {
                    return router.loop.makeSucceededFuture(reply)
                }
                let again = step(target, !redirection.isMoved, deadline)
                return router.following(again, of: target, key, deadline, redirections: redirections + 1, step)
            }
            if error.code == "CLUSTERDOWN" { router.events.lookAgain() }
            let later = NIODeadline.now() + Self.migrationPause
            // TRYAGAIN: some of the keys have been moved and others have not.
            guard error.code == "TRYAGAIN", later < deadline else { return router.loop.makeSucceededFuture(reply) }
            let retry = router.loop.makePromise(of: RedisReply.self)
            router.loop.scheduleTask(deadline: later) {
                let (router, node, step) = context.value
                let serving = router.node(for: key) ?? node
                let again = step(serving, false, deadline)
                router.following(again, of: serving, key, deadline, redirections: redirections, step)
                    .cascade(to: retry)
            }
            return retry.futureResult
        }
    }

    /// The node that a redirection names. A slot that has moved for good is entered at once; the whole map follows.
    private func target(of redirection: Redirection) -> RedisNode? {
        guard redirection.isMoved else { return self.nodes[redirection.endpoint] }
        self.events.lookAgain()
        let (node, _) = self.node(at: redirection.endpoint)
        if self.nodeOfSlot.isEmpty {
            self.nodeOfSlot = [RedisNode?](repeating: self.onlyNode, count: Topology.slotCount)
            self.onlyNode = nil
        }
        self.nodeOfSlot[redirection.slot] = node
        return node
    }
}
