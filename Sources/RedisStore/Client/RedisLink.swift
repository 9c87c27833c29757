import NIOCore

/// A connection to one server that is opened again whenever it is lost. Confined to its loop.
///
/// While there is no connection, commands fail at once. A caller that wants to wait calls `becomeUp` first.
final class RedisLink {
    /// The events that are reported to the owner of the link, on the loop, until the owner shuts the link down.
    struct Events {
        /// A connection became usable. Passes the facts from its handshake, and the handshake's duration.
        var up: (RedisFacts, Duration) -> Void
        /// The connection, or an attempt to connect, failed.
        var down: (RedisError.Cause, RedisServerError?) -> Void
        /// The server answers, but does not report that it is a primary.
        var misplaced: () -> Void
    }

    private let loop: any EventLoop
    private let connector: RedisConnector
    let endpoint: RedisEndpoint
    private let events: Events
    private let commandTimeout: TimeAmount
    private var breaker = CircuitBreaker()
    /// The current connection, which may still be in its handshake.
    private var handler: RedisConnectionHandler?
    private var channel: (any Channel)?
    private var isShutDown = false
    /// Succeeds when the first attempt to connect is over, even if it failed.
    private var firstAttempt: EventLoopPromise<Void>?
    /// The promises of callers that wait for the next connection.
    private var waiting: [EventLoopPromise<Void>] = []

    init(to endpoint: RedisEndpoint, over connector: RedisConnector, on loop: any EventLoop, events: Events) {
        self.loop = loop
        self.connector = connector
        self.endpoint = endpoint
        self.events = events
        self.commandTimeout = TimeAmount(connector.configuration.commandTimeout)
    }

    var isUp: Bool { self.breaker.state == .closed && self.handler?.isReady == true }

    /// Starts to connect. The future succeeds when the first attempt is over, even if it failed.
    func start() -> EventLoopFuture<Void> {
        let promise = self.loop.makePromise(of: Void.self)
        self.firstAttempt = promise
        self.connect()
        return promise.futureResult
    }

    /// The connection over which commands can be sent now; `nil` if no connection is usable.
    var current: RedisConnectionHandler? {
        self.isUp ? self.handler : nil
    }

    /// The deadline of a command that is sent now.
    var newDeadline: NIODeadline { .now() + self.commandTimeout }

    /// Sends the command, preceded by `ASKING` if a cluster is moving the command's slot to this server. Callers that
    /// retry a command check its deadline first, because a command that times out ends the shared connection.
    func send(
        _ command: RedisCommand,
        asking: Bool = false,
        deadline: NIODeadline,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        guard let handler = self.current else { return receiver(.failure(.notSent(self.absence))) }
        Self.send(command, over: handler, asking: asking, deadline: deadline, receiver)
    }

    /// Runs a script by its name and, if Redis does not know the name, by its text. Both commands use one connection,
    /// so that a failover cannot lead them to different servers.
    func evaluate(
        _ call: ScriptCall,
        asking: Bool = false,
        deadline: NIODeadline,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        guard let handler = self.current else { return receiver(.failure(.notSent(self.absence))) }
        Self.send(call.byName, over: handler, asking: asking, deadline: deadline) { result in
            guard case .success(.error(let error)) = result, error.errorClass == .noScript else {
                return receiver(result)
            }
            guard deadline > .now() else { return receiver(.failure(.notSent(.timedOut))) }
            Self.send(call.byText, over: handler, asking: asking, deadline: deadline, receiver)
        }
    }

    /// Waits for a usable connection. The future fails after `patience`. Only two kinds of commands wait: redirected
    /// commands, and reads that find out whether a command was executed before its connection was lost.
    func becomeUp(within patience: Duration) -> EventLoopFuture<Void> {
        if self.isUp { return self.loop.makeSucceededVoidFuture() }
        if self.isShutDown { return self.loop.makeFailedFuture(RedisError.notSent(.shuttingDown)) }
        let promise = self.loop.makePromise(of: Void.self)
        let timer = self.loop.scheduleTask(in: TimeAmount(patience)) {
            promise.fail(RedisError.notSent(.notConnected))
        }
        self.waiting.append(promise)
        return promise.futureResult.always { _ in timer.cancel() }
    }

    /// Reconnects when all sent commands have been answered, because the server's role may have changed.
    func renew() { self.handler?.drain() }

    /// Waits for the answers to commands that were already sent, and then closes. Nothing is sent from now on.
    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        for promise in self.waiting { promise.fail(RedisError.notSent(.shuttingDown)) }
        self.waiting = []
        self.handler?.drain()
        self.endFirstAttempt()
        guard let channel = self.channel else { return self.loop.makeSucceededVoidFuture() }
        return channel.closeFuture
    }

    // MARK: Steps

    /// The reason why there is no connection.
    private var absence: RedisError.Cause { self.isShutDown ? .shuttingDown : .notConnected }

    private static func send(
        _ command: RedisCommand,
        over handler: RedisConnectionHandler,
        asking: Bool,
        deadline: NIODeadline,
        _ receiver: @escaping RedisConnectionHandler.Receiver
    ) {
        if asking {
            // The answer to `ASKING` is ignored, because the command's own answer shows whether it failed.
            handler.send(RedisCommand("ASKING"), deadline: deadline) { _ in }
        }
        handler.send(command, deadline: deadline, receiver)
    }

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
        guard !self.isShutDown else {
            channel.close(promise: nil)
            self.lost(.shuttingDown, nil)
            return
        }
        let link = NIOLoopBound(self, eventLoop: self.loop)
        let configuration = self.connector.configuration
        let began = NIODeadline.now()
        let handler = RedisConnectionHandler(
            configuration,
            handshake: self.connector.current.handshake,
            events: RedisConnectionHandler.Events(
                ready: { link.value.ready(RedisFacts($0), after: Duration(.now() - began)) },
                answered: { link.value.breaker.answered() },
                ended: { link.value.lost($0, $1) }
            )
        )
        self.channel = channel
        self.handler = handler
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    /// Decides by the server's report whether to use the connection. Returns false unless the server is a primary.
    private func ready(_ facts: RedisFacts?, after handshake: Duration) -> Bool {
        // Nothing is read from a replica, because it may not know yet which sessions have ended.
        guard !self.isShutDown, let facts, facts.isPrimary else {
            if !self.isShutDown { self.events.misplaced() }
            return false
        }
        self.breaker.connected()
        self.events.up(facts, handshake)
        self.endFirstAttempt()
        let waiting = self.waiting
        self.waiting = []
        for promise in waiting { promise.succeed(()) }
        return true
    }

    private func lost(_ cause: RedisError.Cause, _ refusal: RedisServerError?) {
        self.handler = nil
        self.channel = nil
        let pause = self.breaker.failed(chance: Double.random(in: 0...1))
        if !self.isShutDown { self.events.down(cause, refusal) }
        self.endFirstAttempt()
        guard !self.isShutDown else { return }
        let link = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleTask(in: TimeAmount(pause)) { link.value.connect() }
    }

    private func endFirstAttempt() {
        self.firstAttempt?.succeed(())
        self.firstAttempt = nil
    }
}
