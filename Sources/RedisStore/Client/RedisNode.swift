import NIOCore

/// One loop's connections to one primary. One connection carries reads, and writes that may be lost. While replicas are
/// connected, a second connection carries durable writes. Confined to its loop.
final class RedisNode {
    let endpoint: RedisEndpoint
    private let loop: any EventLoop
    private let connector: RedisConnector
    private let router: RedisRouter
    private let reads: RedisLink
    private var commits: CommitLink?
    /// A new link for durable writes. It becomes `commits` after its first attempt to connect.
    private var opening: CommitLink?
    private var firstCommitAttempt: EventLoopFuture<Void>?
    /// The time until which confirmations are requested even without replicas.
    private var retainedUntil: NIODeadline?
    /// The time until which durable writes are rejected.
    private var durableWritesRejectedUntil = NIODeadline.uptimeNanoseconds(0)
    private var isShutDown = false

    /// The time for which confirmations are still requested after a primary has lost its replicas. A replica that is
    /// promoted leaves its primary, and the gateway may learn about the promotion only later.
    private static let retention = TimeAmount.seconds(10)
    /// The maximum time for which a promotion makes the node reject durable writes.
    private static let longestHold = TimeAmount.seconds(15)

    init(at endpoint: RedisEndpoint, of router: RedisRouter, over connector: RedisConnector, on loop: any EventLoop) {
        self.endpoint = endpoint
        self.connector = connector
        self.loop = loop
        self.router = router
        self.reads = RedisLink(
            to: endpoint,
            over: connector,
            on: loop,
            events: RedisLink.Events(
                up: { router.connected(endpoint, $0, $1) },
                down: { router.lost(endpoint, $0, $1) },
                misplaced: { router.client?.lookAgain() }
            )
        )
    }

    var isUp: Bool { self.reads.isUp }
    var newDeadline: NIODeadline { self.reads.newDeadline }

    /// Starts to connect. The future succeeds when the first attempt is over, even if it failed.
    func start() -> EventLoopFuture<Void> {
        self.andCommits(after: self.reads.start())
    }

    /// Waits until commands and scripts can be sent. The future fails after `patience`.
    func becomeUp(within patience: Duration) -> EventLoopFuture<Void> {
        let commits = self.commits?.becomeUp(within: patience) ?? self.loop.makeSucceededVoidFuture()
        return self.andCommits(after: self.reads.becomeUp(within: patience).and(commits).map { _ in })
    }

    func send(
        _ command: RedisCommand,
        asking: Bool = false,
        deadline: NIODeadline,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        self.reads.send(command, asking: asking, deadline: deadline, receiver)
    }

    func evaluate(
        _ call: ScriptCall,
        asking: Bool,
        deadline: NIODeadline,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        if call.script.isDurable, self.durableWritesRejectedUntil > .now() {
            return receiver(.failure(.notSent(.replaced)))
        }
        let received: RedisConnectionHandler.Receiver = { [router, endpoint] result in
            if case .success(.error(let error)) = result, let refusal = error.writeRefusal {
                router.client?.writeRefused(endpoint, refusal)
            }
            receiver(result)
        }
        guard call.script.isDurable, let commits = self.commits else {
            return self.reads.evaluate(call, asking: asking, deadline: deadline, received)
        }
        commits.evaluate(call, asking: asking, deadline: deadline, received)
    }

    /// Writes a key that expires after a millisecond, over the connection for durable writes if there is one.
    func writeNothing(tag: String, _ receiver: @escaping RedisConnectionHandler.Receiver) {
        let deadline = self.newDeadline
        guard let commits = self.commits else {
            return self.reads.send(RedisNeeds.write(tag: tag), deadline: deadline, receiver)
        }
        commits.evaluate(RedisNeeds.durableWrite(tag: tag), asking: false, deadline: deadline, receiver)
    }

    /// Signs the open connections in again, with the current credentials. If the server refuses, the connections stay
    /// signed in as before. `receiver` gets only the replies over the connection for reads.
    func signInAgain(_ receiver: @escaping RedisConnectionHandler.Receiver) {
        let configuration = self.connector.current
        for step in RedisConfiguration.authentication(user: configuration.user, password: configuration.password) {
            self.reads.send(step.command, deadline: self.newDeadline, receiver)
            self.commits?.send(step.command, deadline: self.newDeadline)
        }
    }

    /// Rejects durable writes while another server is being made the primary, because the new primary may not get them.
    /// If `isHeld` is false, the promotion was given up, and writes are accepted again.
    func hold(_ isHeld: Bool) {
        self.durableWritesRejectedUntil = isHeld ? .now() + Self.longestHold : .uptimeNanoseconds(0)
    }

    /// Adopts the facts that the server reported over a new connection.
    func connected(_ facts: RedisFacts) {
        guard !self.isShutDown else { return }
        if facts.connectedReplicas > 0, self.commits == nil, self.opening == nil {
            // The server has replicas from the start, so no durable write is sent until they can confirm it.
            let commits = self.makeCommitLink()
            self.commits = commits
            self.firstCommitAttempt = commits.start()
        } else {
            self.adopt(facts)
        }
    }

    /// Adopts the server's report on its replicas. After 10 seconds without a replica (`retention`), writes no longer
    /// wait for a confirmation. Operators who want these writes rejected set `min-replicas-to-write`.
    func adopt(_ facts: RedisFacts) {
        guard !self.isShutDown else { return }
        guard facts.isPrimary else {
            // The server was replaced as primary and has kept its connections.
            self.reads.renew()
            self.router.client?.lookAgain()
            return
        }
        if facts.connectedReplicas > 0 { self.retainedUntil = nil }
        if facts.connectedReplicas > 0, self.commits == nil, self.opening == nil {
            // This is the first replica. Writes are not confirmed until the first attempt to open `commits` is over.
            let commits = self.makeCommitLink()
            self.opening = commits
            let node = NIOLoopBound(self, eventLoop: self.loop)
            commits.start().whenComplete { _ in
                if let opened = node.value.opening { node.value.commits = opened }
                node.value.opening = nil
            }
        } else if facts.connectedReplicas == 0, self.commits != nil || self.opening != nil {
            let end = self.retainedUntil ?? .now() + Self.retention
            self.retainedUntil = end
            guard end <= .now() else { return }
            self.retainedUntil = nil
            _ = self.commits?.shutDown()
            _ = self.opening?.shutDown()
            self.commits = nil
            self.opening = nil
        }
    }

    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        let links = [self.reads.shutDown()] + [self.commits, self.opening].compactMap { $0?.shutDown() }
        return EventLoopFuture.andAllComplete(links, on: self.loop)
    }

    // MARK: Steps

    /// Waits for `attempt` and for the first attempt to connect for durable writes, if one has begun.
    private func andCommits(after attempt: EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        let node = NIOLoopBound(self, eventLoop: self.loop)
        return attempt.flatMap { node.value.firstCommitAttempt ?? node.value.loop.makeSucceededVoidFuture() }
    }

    private func makeCommitLink() -> CommitLink {
        let (router, endpoint) = (self.router, self.endpoint)
        return CommitLink(
            link: RedisLink(
                to: endpoint,
                over: self.connector,
                on: self.loop,
                events: RedisLink.Events(up: { _, _ in }, down: { _, _ in }, misplaced: { router.client?.lookAgain() })
            ),
            configuration: self.connector.configuration,
            on: self.loop,
            onShortage: { router.client?.replicasShort(endpoint) },
            onError: { router.client?.meter.note($0) }
        )
    }
}
