import NIOCore

/// The primary that sentinels name (Redis documentation, "Sentinel client spec").
///
/// The gateway listens to every sentinel, because any of them may be cut off from the rest. In each round, all
/// sentinels are asked at once. They may name an old primary, so the server at each address is asked for its role.
final class SentinelTopology: TopologySource {
    /// The interval at which sentinels are asked if no connection is lost and no news of another primary arrives.
    private static let interval = Duration.seconds(10)
    /// The channel on which sentinels publish `<name> <old host> <old port> <new host> <new port>`. A primary that is
    /// cut off only from the sentinels keeps its connections, so only this message reports the change.
    private static let newsChannel = "+switch-master"
    /// The channels on which the sentinel that leads a failover publishes `<role> <name> <host> <port> @ <primary's
    /// name> ...`: first when it has told a replica to become the primary, then when the replica has done so. Until
    /// most sentinels know the new primary, the old primary accepts writes and its other replicas confirm them, but
    /// these writes will be lost.
    private static let beginChannels = ["+failover-state-send-slaveof-noone", "+promoted-slave"]
    /// The channel on which the leading sentinel publishes `master <name> ...` if the replica does not become the
    /// primary. Other aborts happen earlier, and may concern a failover that another sentinel leads.
    private static let abortChannel = "-failover-abort-slave-timeout"

    static var channels: [String] { [Self.newsChannel] + Self.beginChannels + [Self.abortChannel] }

    private let sentinels: RedisConfiguration.Sentinels
    private let connector: RedisConnector
    private let loop: any EventLoop
    private let lookout: Lookout
    private let subscriptions: NIOLoopBoundBox<[RedisSubscription]>

    init(_ sentinels: RedisConfiguration.Sentinels, over connector: RedisConnector, on loop: any EventLoop) {
        self.sentinels = sentinels
        self.connector = connector
        self.loop = loop
        self.lookout = Lookout(every: Self.interval, on: loop)
        self.subscriptions = NIOLoopBoundBox.makeBoxSendingValue([], eventLoop: loop)
    }

    func start(for client: RedisClient) {
        self.lookout.start(for: client) { current in await self.look(current, for: client) }
        self.loop.execute { self.listen(for: client) }
    }

    func lookAgain() { self.lookout.lookAgain() }

    func heard(within time: Duration) -> Quorum? {
        let subscriptions = self.subscriptions.value
        return subscriptions.isEmpty ? nil : Quorum(at: subscriptions, within: time)
    }

    func shutDown() async {
        let listened = self.loop.flatSubmit {
            let ends = self.subscriptions.value.map { $0.shutDown() }
            self.subscriptions.value = []
            return EventLoopFuture.andAllComplete(ends, on: self.loop)
        }
        await self.lookout.shutDown()
        try? await listened.get()
    }

    // MARK: News

    private func listen(for client: RedisClient) {
        let connector = self.connector
        let lookout = self.lookout
        let name = self.sentinels.primaryName
        self.subscriptions.value = self.sentinels.endpoints.map { sentinel in
            RedisSubscription(
                to: sentinel,
                SubscriptionPlan(
                    greeting: connector.current.sentinelGreeting,
                    channels: Self.channels,
                    handshakeTimeout: connector.configuration.connectTimeout
                ),
                over: self.connector,
                on: self.loop,
                events: SubscriptionHandler.Events(
                    // Messages from before the subscription are not repeated, so the sentinels are asked.
                    up: { lookout.lookAgain() },
                    messages: { messages in
                        for message in messages {
                            guard case .text(let text) = message.payload else { continue }
                            let words = text.split(separator: 0x20)
                            func says(_ index: Int) -> Bool {
                                words.indices.contains(index) && words[index].elementsEqual(name.utf8)
                            }
                            if message.channel == Self.newsChannel, says(0) {
                                lookout.lookAgain(isNews: true)
                            } else if Self.beginChannels.contains(message.channel), says(5) {
                                client.replacing(true)
                            } else if message.channel == Self.abortChannel, says(1) {
                                client.replacing(false)
                            }
                        }
                    },
                    // A sentinel that answers commands may still refuse a subscription. Rounds report other errors.
                    ended: { _, refusal in
                        if let refusal { client.refused(sentinel, refusal) }
                    }
                )
            )
        }
        for subscription in self.subscriptions.value { subscription.start() }
    }

    // MARK: A round

    /// The state of a server that a sentinel named as the primary.
    private enum Standing {
        case primary
        case replica
        /// The server refuses to report its role. The connections for commands will report the reason.
        case refusing
        case unreachable
    }

    private func look(_ current: Topology?, for client: RedisClient) async -> Topology? {
        var votes = SentinelVotes(voters: self.sentinels.endpoints.count)
        var tried: Set<RedisEndpoint> = []
        var refusing: RedisEndpoint?
        var unreachable: RedisEndpoint?
        for await (sentinel, answer) in self.answers() {
            votes.add(self.address(in: answer, of: sentinel, for: client))
            for candidate in votes.candidates where tried.insert(candidate).inserted {
                switch await self.standing(of: candidate) {
                case .primary: return Topology(candidate)
                case .replica: break
                case .refusing: refusing = refusing ?? candidate
                case .unreachable: unreachable = unreachable ?? candidate
                }
            }
            if votes.isComplete { break }
        }
        // An unusable primary is adopted if no primary is known, or if it refuses, so that the reason is reported.
        return (refusing ?? (current == nil ? unreachable : nil)).map { Topology($0) }
    }

    private typealias Answer = (sentinel: RedisEndpoint, replies: Result<[RedisReply], any Error>)

    /// Returns each sentinel's answer as it arrives. A caller that stops early does not wait for the other answers.
    private func answers() -> AsyncStream<Answer> {
        let (answers, continuation) = AsyncStream.makeStream(of: Answer.self)
        for sentinel in self.sentinels.endpoints {
            RedisProbe.ask(
                [RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.sentinels.primaryName)],
                of: sentinel,
                over: self.connector,
                greeting: self.connector.current.sentinelGreeting,
                on: self.loop
            ).whenComplete { continuation.yield((sentinel, $0)) }
        }
        return answers
    }

    private func address(
        in answer: Result<[RedisReply], any Error>,
        of sentinel: RedisEndpoint,
        for client: RedisClient
    ) -> RedisEndpoint? {
        switch answer.map(\.first) {
        case .success(.null):
            // Redis itself has no error for this case.
            client.refused(sentinel, RedisServerError(line: "NOMASTER this sentinel knows no primary of that name"))
        case .success(.error(let error)), .failure(RedisError.server(let error)):
            client.refused(sentinel, error)
        case .success(let reply?):
            return RedisEndpoint(sentinelReply: reply)
        case .success, .failure:
            break
        }
        return nil
    }

    private func standing(of endpoint: RedisEndpoint) async -> Standing {
        do {
            let command = RedisCommand("INFO", "replication")
            let reply = try await RedisProbe.ask([command], of: endpoint, over: self.connector, on: self.loop).get()
            guard let facts = RedisFacts(reply.first) else { return .refusing }
            return facts.isPrimary ? .primary : .replica
        } catch RedisError.server {
            return .refusing
        } catch {
            return .unreachable
        }
    }
}
