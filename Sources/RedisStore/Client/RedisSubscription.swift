import NIOCore

/// One subscription at one server, renewed until it is shut down. Confined to its loop.
///
/// Messages between the end of a connection and the next `up` are lost. An owner that must not miss any message reads
/// its data again after `up`.
final class RedisSubscription {
    let endpoint: RedisEndpoint
    /// Returns the plan for a new connection. Called at each connect, because the credentials may have changed.
    private let plan: () -> SubscriptionPlan
    private let connector: RedisConnector
    private let loop: any EventLoop
    private let events: SubscriptionHandler.Events
    private var breaker = CircuitBreaker()
    private var handler: SubscriptionHandler?
    private var channel: (any Channel)?
    /// The time since which messages arrive; `nil` while no message can arrive.
    private var upSince: NIODeadline?
    /// When the server last sent anything on a former connection or refused a connection; initially the creation time.
    private var heardBefore = NIODeadline.now()
    private var isShutDown = false

    /// The time that a connection must last to reset the pauses between attempts to connect.
    private static let lasting = TimeAmount.seconds(1)

    init(
        to endpoint: RedisEndpoint,
        _ plan: @autoclosure @escaping () -> SubscriptionPlan,
        over connector: RedisConnector,
        on loop: any EventLoop,
        events: SubscriptionHandler.Events
    ) {
        self.endpoint = endpoint
        self.plan = plan
        self.connector = connector
        self.loop = loop
        self.events = events
    }

    /// The time when the server last sent anything over the subscription, or last refused a connection.
    var lastHeard: NIODeadline {
        guard self.upSince != nil, let handler = self.handler else { return self.heardBefore }
        return max(self.heardBefore, handler.lastHeard)
    }

    func start() { self.connect() }

    /// Ends the subscription. Nothing is reported from now on.
    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        let closed = self.channel?.closeFuture ?? self.loop.makeSucceededVoidFuture()
        self.handler?.close()
        return closed
    }

    // MARK: Steps

    private func connect() {
        guard !self.isShutDown, self.breaker.probe() else { return }
        self.connector.open(
            to: self.endpoint,
            on: self.loop,
            adopt: { try self.connected($0) },
            failed: { self.lost($0, nil) }
        )
    }

    private func connected(_ channel: any Channel) throws {
        guard !self.isShutDown else { return channel.close(promise: nil) }
        let subscription = NIOLoopBound(self, eventLoop: self.loop)
        let handler = SubscriptionHandler(
            self.plan(),
            events: SubscriptionHandler.Events(
                up: { subscription.value.up() },
                messages: self.events.messages,
                ended: { subscription.value.lost($0, $1) }
            )
        )
        self.channel = channel
        self.handler = handler
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private func up() {
        self.breaker.connected()
        self.upSince = .now()
        self.events.up()
    }

    private func lost(_ cause: RedisError.Cause, _ refusal: RedisServerError?) {
        // A server that refuses a connection is running.
        self.heardBefore = refusal == nil ? self.lastHeard : .now()
        self.handler = nil
        self.channel = nil
        let wasLasting = self.upSince.map { .now() - $0 >= Self.lasting } ?? false
        self.upSince = nil
        guard !self.isShutDown else { return }
        if wasLasting { self.breaker.answered() }
        let pause = self.breaker.failed(chance: Double.random(in: 0...1))
        self.events.ended(cause, refusal)
        let subscription = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleTask(in: TimeAmount(pause)) { subscription.value.connect() }
    }
}
