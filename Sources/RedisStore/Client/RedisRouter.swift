import NIOCore

/// One loop's connections to all primaries. Sends each command to the node that serves the command's key, and follows
/// the redirections of a cluster. Confined to its loop.
final class RedisRouter {
    /// The maximum number of redirections that one command follows. The next redirection is returned as the answer.
    private static let maxRedirections = 4
    /// The number of nodes beyond which redirections add no node. Redis Cluster is specified for about 1,000 nodes.
    private static let maxNodes = 1000
    /// The pause before a command is sent again because a cluster is moving its keys.
    private static let migrationPause = TimeAmount.milliseconds(10)

    private let loop: any EventLoop
    private let connector: RedisConnector
    /// The client, to which events of the nodes are reported on the loop.
    private let owner: RedisClient.Reference
    private let index: Int
    private var topology: Topology?
    /// The nodes of the topology, and the nodes that redirections have named since.
    private var nodes: [RedisEndpoint: RedisNode] = [:]
    /// The node of the only shard; `nil` if there are several shards. With one shard, no slot is computed.
    private var onlyNode: RedisNode?
    private var nodeOfSlot: [RedisNode?] = []
    private var isShutDown = false

    /// - Parameter index: The index of the loop among the client's loops.
    init(of owner: RedisClient.Reference, index: Int, over connector: RedisConnector, on loop: any EventLoop) {
        self.owner = owner
        self.index = index
        self.connector = connector
        self.loop = loop
    }

    /// The client; `nil` before it is made and after it is released.
    var client: RedisClient? { self.owner.value }

    // MARK: Topology

    /// Uses the primaries of `topology`. The future succeeds when each new node's first attempt to connect is over.
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
            self.client?.disconnected(endpoint, .replaced, nil, loop: self.index)
        }
        self.nodeOfSlot = nodeOfSlot
        self.onlyNode = topology.shards.count == 1 ? self.nodes[topology.shards[0].endpoint] : nil
        return EventLoopFuture.andAllComplete(attempts, on: self.loop)
    }

    func adopt(_ facts: RedisFacts, of endpoint: RedisEndpoint) {
        self.nodes[endpoint]?.adopt(facts)
    }

    /// Returns the node at an endpoint. If the node is new, also returns its first attempt to connect.
    private func node(at endpoint: RedisEndpoint) -> (node: RedisNode, attempt: EventLoopFuture<Void>?) {
        if let node = self.nodes[endpoint] { return (node, nil) }
        let node = RedisNode(at: endpoint, of: self, over: self.connector, on: self.loop)
        self.nodes[endpoint] = node
        return (node, node.start())
    }

    /// Records that a node's connection is usable.
    ///
    /// - Parameter handshake: The duration of the handshake that asked for the facts.
    func connected(_ endpoint: RedisEndpoint, _ facts: RedisFacts, _ handshake: Duration) {
        self.nodes[endpoint]?.connected(facts)
        self.client?.connected(endpoint, facts, handshake, loop: self.index)
    }

    /// Records that a node's connection, or the attempt to make one, has failed.
    func lost(_ endpoint: RedisEndpoint, _ cause: RedisError.Cause, _ refusal: RedisServerError?) {
        self.client?.disconnected(endpoint, cause, refusal, loop: self.index)
        self.client?.lookAgain()
        // A node that is known only from a redirection is dropped, not reconnected. The topology's slots apply again.
        if let topology = self.topology, !topology.shards.contains(where: { $0.endpoint == endpoint }) {
            _ = self.adopt(topology)
        }
    }

    // MARK: Commands

    /// Sends the command to the node that serves its key, or to any node if the command has no key.
    func send(_ command: RedisCommand, _ receiver: @escaping RedisConnectionHandler.Receiver) {
        if !self.connector.configuration.isCluster, let node = self.onlyNode {
            return node.send(command, deadline: node.newDeadline, receiver)
        }
        self.route(command.key, receiver) { $0.send(command, asking: $1, deadline: $2, $3) }
    }

    /// Runs the script on the node that serves its keys.
    func evaluate(_ call: ScriptCall, _ receiver: @escaping RedisConnectionHandler.Receiver) {
        self.route(call.keys.first?[...], receiver) { $0.evaluate(call, asking: $1, deadline: $2, $3) }
    }

    /// Waits for a connection to the node that serves `key`. The future fails after `patience`.
    func becomeUp(key: ArraySlice<UInt8>?, within patience: Duration) -> EventLoopFuture<Void> {
        guard let node = self.node(for: key) else { return self.notConnected() }
        return node.becomeUp(within: patience)
    }

    /// Sends the command to the node at `endpoint`, whatever slots it serves.
    func send(_ command: RedisCommand, to endpoint: RedisEndpoint) -> EventLoopFuture<RedisReply> {
        guard let node = self.nodes[endpoint] else { return self.notConnected() }
        return self.loop.receiving { node.send(command, deadline: node.newDeadline, $0) }
    }

    /// Tests whether the node at `endpoint` accepts writes.
    func writeNothing(to endpoint: RedisEndpoint, tag: String) -> EventLoopFuture<RedisReply> {
        guard let node = self.nodes[endpoint] else { return self.notConnected() }
        return self.loop.receiving { node.writeNothing(tag: tag, $0) }
    }

    /// Signs all connections in again. Only the first loop reports refusals, because all loops get the same refusals.
    func signInAgain() {
        for (endpoint, node) in self.nodes {
            node.signInAgain { [owner, index] result in
                guard index == 0, case .success(.error(let error)) = result else { return }
                owner.value?.notify(.refused(endpoint, error))
            }
        }
    }

    /// Rejects durable writes while another server is being made the primary; accepts them again if `isHeld` is false.
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
        for endpoint in nodes.keys { self.client?.disconnected(endpoint, .shuttingDown, nil, loop: self.index) }
        return EventLoopFuture.andAllComplete(ends, on: self.loop)
    }

    // MARK: Steps

    private typealias Step = (RedisNode, _ asking: Bool, NIODeadline, @escaping RedisConnectionHandler.Receiver) -> Void

    /// A command or script on its way to the node that serves its key.
    private struct PendingCall {
        let key: ArraySlice<UInt8>?
        let deadline: NIODeadline
        let step: Step
        let receiver: RedisConnectionHandler.Receiver
    }

    private func node(for key: ArraySlice<UInt8>?) -> RedisNode? {
        if let node = self.onlyNode { return node }
        guard !self.nodeOfSlot.isEmpty else { return nil }
        guard let key else { return self.nodeOfSlot.lazy.compactMap { $0 }.first }
        return self.nodeOfSlot[HashSlot.of(key)]
    }

    private func notConnected<Answer: Sendable>() -> EventLoopFuture<Answer> {
        self.loop.makeFailedFuture(self.absence)
    }

    /// The error of a command for which there is no node.
    private var absence: RedisError { .notSent(self.isShutDown ? .shuttingDown : .notConnected) }

    private func route(
        _ key: ArraySlice<UInt8>?,
        _ receiver: @escaping RedisConnectionHandler.Receiver,
        _ step: @escaping Step
    ) {
        guard let node = self.node(for: key) else {
            self.client?.lookAgain()
            return receiver(.failure(self.absence))
        }
        let deadline = node.newDeadline
        guard self.connector.configuration.isCluster else { return step(node, false, deadline, receiver) }
        self.send(PendingCall(key: key, deadline: deadline, step: step, receiver: receiver), to: node)
    }

    /// Sends a command, and sends it again to the node that a redirection names. Redis has not executed a redirected
    /// command.
    private func send(_ errand: PendingCall, to node: RedisNode, asking: Bool = false, redirections: Int = 0) {
        guard errand.deadline > .now() else { return errand.receiver(.failure(.notSent(.timedOut))) }
        errand.step(node, asking, errand.deadline) { result in
            guard case .success(.error(let error)) = result else { return errand.receiver(result) }
            if ["MOVED", "CLUSTERDOWN"].contains(error.code) { self.client?.lookAgain() }
            if let redirection = Redirection(error, from: node.endpoint) {
                guard redirections < Self.maxRedirections, let target = self.target(of: redirection),
                    let patience = self.patience(until: errand.deadline)
                else { return errand.receiver(result) }
                let again = {
                    self.send(errand, to: target, asking: !redirection.isMoved, redirections: redirections + 1)
                }
                if target.isUp { return again() }
                // The command waits, because connecting usually takes less time than the command has left.
                return target.becomeUp(within: patience).assumeIsolated().whenComplete { isUp in
                    switch isUp {
                    case .success: again()
                    case .failure(let error): errand.receiver(.failure(.of(error)))
                    }
                }
            }
            // TRYAGAIN: only some of the command's keys have been moved.
            guard error.code == "TRYAGAIN", self.patience(until: errand.deadline) != nil else {
                return errand.receiver(result)
            }
            self.loop.assumeIsolated().scheduleTask(in: Self.migrationPause) {
                self.send(errand, to: self.node(for: errand.key) ?? node)
            }
        }
    }

    /// Returns the time for which a command may still wait before it is sent again; `nil` if no time is left. Half of
    /// the command timeout is kept for the answer, because a command that times out ends the shared connection.
    private func patience(until deadline: NIODeadline) -> Duration? {
        let reserve = TimeAmount(self.connector.configuration.commandTimeout / 2)
        let left = (deadline - reserve - .now()).nanoseconds
        return left > 0 ? .nanoseconds(left) : nil
    }

    /// Returns the node that a redirection names; `nil` after `shutDown` or beyond `maxNodes`. Records a moved slot at
    /// once, because the new topology arrives only later.
    private func target(of redirection: Redirection) -> RedisNode? {
        guard !self.isShutDown, self.nodes[redirection.endpoint] != nil || self.nodes.count < Self.maxNodes else {
            return nil
        }
        // A node without slots is not in the topology. While it gets its first slots, only `ASK` redirections name it.
        if self.nodes[redirection.endpoint] == nil { self.client?.met(redirection.endpoint) }
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
