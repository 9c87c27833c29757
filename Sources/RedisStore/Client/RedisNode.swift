internal import NIOCore

/// One loop's connections to one primary: one for reads and what may be lost, and, while replicas are connected, one for
/// what must not be (DESIGN 5). Confined to its loop.
final class RedisNode {
    /// What the node tells of itself, on the loop.
    struct Events {
        var up: (RedisFacts) -> Void
        var down: (RedisError.Cause, RedisServerError?) -> Void
        /// The server is no primary.
        var misplaced: () -> Void
        /// No replica has confirmed a write in time.
        var replicasShort: () -> Void
    }

    let endpoint: RedisEndpoint
    private let loop: any EventLoop
    private let connector: RedisConnector
    private let events: Events
    private let reads: RedisLink
    private var commits: CommitLink?
    private var firstCommitAttempt: EventLoopFuture<Void>?
    private var isShutDown = false

    init(at endpoint: RedisEndpoint, over connector: RedisConnector, on loop: any EventLoop, events: Events) {
        self.endpoint = endpoint
        self.connector = connector
        self.loop = loop
        self.events = events
        self.reads = RedisLink(
            to: endpoint,
            over: connector,
            on: loop,
            events: RedisLink.Events(up: events.up, down: events.down, misplaced: events.misplaced)
        )
    }

    var isUp: Bool { self.reads.isUp }
    var newDeadline: NIODeadline { self.reads.newDeadline }

    /// Succeeds when the first attempt to connect is over, whatever came of it.
    func start() -> EventLoopFuture<Void> {
        let node = NIOLoopBound(self, eventLoop: self.loop)
        return self.reads.start().flatMap { node.value.firstCommitAttempt ?? node.value.loop.makeSucceededVoidFuture() }
    }

    func becomeUp(within patience: Duration) -> EventLoopFuture<Void> { self.reads.becomeUp(within: patience) }

    func send(_ command: RedisCommand, asking: Bool, deadline: NIODeadline) -> EventLoopFuture<RedisReply> {
        self.reads.send(command, asking: asking, deadline: deadline)
    }

    func evaluate(_ call: ScriptCall, asking: Bool, deadline: NIODeadline) -> EventLoopFuture<RedisReply> {
        if call.script.isDurable, let commits = self.commits {
            return commits.evaluate(call, asking: asking, deadline: deadline)
        }
        return self.reads.evaluate(call, asking: asking, deadline: deadline)
    }

    /// Takes what the server says of its replicas: with none there is nobody who could confirm a write, and no failover
    /// that could forget it. (A primary that must refuse then has `min-replicas-to-write`.)
    func adopt(_ facts: RedisFacts) {
        guard !self.isShutDown else { return }
        if facts.connectedReplicas > 0, self.commits == nil {
            let commits = CommitLink(
                link: RedisLink(
                    to: self.endpoint,
                    over: self.connector,
                    on: self.loop,
                    events: RedisLink.Events(up: { _ in }, down: { _, _ in }, misplaced: self.events.misplaced)
                ),
                commandTimeout: self.connector.configuration.commandTimeout,
                on: self.loop,
                onShortage: self.events.replicasShort
            )
            self.commits = commits
            self.firstCommitAttempt = commits.start()
        } else if facts.connectedReplicas == 0, let commits = self.commits {
            self.commits = nil
            _ = commits.shutDown()
        }
    }

    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        let links = [self.reads.shutDown()] + (self.commits.map { [$0.shutDown()] } ?? [])
        return EventLoopFuture.andAllComplete(links, on: self.loop)
    }
}
