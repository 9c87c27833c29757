internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// One loop's way to Redis: one connection, renewed when it is lost. Confined to its loop.
///
/// No command waits for a connect: without a connection it fails at once.
final class RedisLink {
    private let loop: any EventLoop
    private let configuration: RedisConfiguration
    private let tls: NIOSSLContext?
    private let observe: @Sendable (Bool) -> Void
    private var breaker = CircuitBreaker()
    /// The connection in use or in its handshake.
    private var handler: RedisConnectionHandler?
    private var channel: (any Channel)?
    private var isShutDown = false
    /// Told once the first attempt to connect is over, either way.
    private var firstAttempt: EventLoopPromise<Void>?
    /// Those who wait for the next connection; all with a timer of their own, so they are few.
    private var waiting: [EventLoopPromise<Void>] = []
    private(set) var lastRefusal: RedisServerError?

    /// - Parameter observe: told when the link comes up or goes down.
    init(
        loop: any EventLoop,
        configuration: RedisConfiguration,
        tls: NIOSSLContext?,
        observe: @escaping @Sendable (Bool) -> Void
    ) {
        self.loop = loop
        self.configuration = configuration
        self.tls = tls
        self.observe = observe
    }

    var isUp: Bool { self.breaker.state == .closed && self.handler?.isReady == true }

    /// Begins to connect; the future succeeds when the first attempt is over, whatever came of it.
    func start() -> EventLoopFuture<Void> {
        let promise = self.loop.makePromise(of: Void.self)
        self.firstAttempt = promise
        self.connect()
        return promise.futureResult
    }

    /// The connection that commands may be sent on now; nil when there is none.
    var current: RedisConnectionHandler? {
        self.isUp ? self.handler : nil
    }

    func send(_ command: RedisCommand) -> EventLoopFuture<RedisReply> {
        guard let handler = self.current else {
            return self.loop.makeFailedFuture(
                RedisError.notSent(self.isShutDown ? .shuttingDown : .notConnected)
            )
        }
        return self.send(command, over: handler, deadline: self.newDeadline())
    }

    /// Sends the command once there is a connection, which is waited for at most so long. For reading back what became of
    /// a command whose answer was lost with its connection; no other request waits.
    func sendWhenUp(_ command: RedisCommand, within patience: Duration) -> EventLoopFuture<RedisReply> {
        if self.isUp || self.isShutDown { return self.send(command) }
        let promise = self.loop.makePromise(of: Void.self)
        let timer = self.loop.scheduleTask(in: TimeAmount(patience)) {
            promise.fail(RedisError.notSent(.notConnected))
        }
        self.waiting.append(promise)
        let link = NIOLoopBound(self, eventLoop: self.loop)
        return promise.futureResult.flatMap {
            timer.cancel()
            return link.value.send(command)
        }
    }

    /// Runs a script by its name and, where Redis does not know it, by its text over the same connection: a server that
    /// another address now names is never given half of it.
    func evaluate(_ call: ScriptCall) -> EventLoopFuture<RedisReply> {
        guard let handler = self.current else {
            return self.loop.makeFailedFuture(
                RedisError.notSent(self.isShutDown ? .shuttingDown : .notConnected)
            )
        }
        let deadline = self.newDeadline()
        let bound = NIOLoopBound((self, handler), eventLoop: self.loop)
        return self.send(call.byName, over: handler, deadline: deadline).flatMap { reply in
            let (link, handler) = bound.value
            guard case .error(let error) = reply, error.errorClass == .noScript else {
                return link.loop.makeSucceededFuture(reply)
            }
            return link.send(call.byText, over: handler, deadline: deadline)
        }
    }

    func shutDown() -> EventLoopFuture<Void> {
        self.isShutDown = true
        for promise in self.waiting { promise.fail(RedisError.notSent(.shuttingDown)) }
        self.waiting = []
        self.handler?.drain()
        guard let channel = self.channel else { return self.loop.makeSucceededVoidFuture() }
        return channel.closeFuture
    }

    // MARK: Steps

    private func newDeadline() -> NIODeadline { .now() + TimeAmount(self.configuration.commandTimeout) }

    private func send(
        _ command: RedisCommand,
        over handler: RedisConnectionHandler,
        deadline: NIODeadline
    ) -> EventLoopFuture<RedisReply> {
        let promise = self.loop.makePromise(of: RedisReply.self)
        handler.send(command, deadline: deadline, promise: promise)
        return promise.futureResult
    }

    private func connect() {
        guard !self.isShutDown, self.breaker.probe() else { return }
        let link = NIOLoopBound(self, eventLoop: self.loop)
        let bootstrap = ClientBootstrap(group: self.loop)
            .connectTimeout(TimeAmount(self.configuration.connectTimeout))
            .channelInitializer { channel in link.value.prepare(channel) }
        let connecting: EventLoopFuture<any Channel>
        switch self.configuration.endpoint {
        case .tcp(let host, let port):
            connecting =
                bootstrap
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: host, port: port)
        case .unix(let path):
            connecting = bootstrap.connect(unixDomainSocketPath: path)
        }
        connecting.whenComplete { result in
            switch result {
            case .success(let channel): link.value.connected(channel)
            case .failure: link.value.lost(.notConnected, nil)
            }
        }
    }

    /// Called for each address that is tried: only the channel that connects lives on.
    private func prepare(_ channel: any Channel) -> EventLoopFuture<Void> {
        self.loop.makeCompletedFuture {
            guard let tls = self.tls else { return }
            let name = try self.serverName()
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
        }
    }

    /// The name for SNI; nil for an address, which is then verified as an address.
    private func serverName() throws -> String? {
        if let name = self.configuration.tls?.serverName { return name }
        guard case .tcp(let host, _) = self.configuration.endpoint else { return nil }
        return (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
    }

    private func connected(_ channel: any Channel) {
        guard !self.isShutDown else {
            channel.close(promise: nil)
            self.lost(.shuttingDown, nil)
            return
        }
        let link = NIOLoopBound(self, eventLoop: self.loop)
        let handler = RedisConnectionHandler(
            configuration: self.configuration,
            events: RedisConnectionHandler.Events(
                ready: { link.value.ready() },
                answered: { link.value.breaker.answered() },
                ended: { link.value.lost($0, $1) }
            )
        )
        self.channel = channel
        self.handler = handler
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
        } catch {
            channel.close(promise: nil)
            self.lost(.closed, nil)
        }
    }

    private func ready() {
        self.breaker.connected()
        self.lastRefusal = nil
        self.observe(true)
        self.endFirstAttempt()
        let waiting = self.waiting
        self.waiting = []
        for promise in waiting { promise.succeed(()) }
    }

    private func lost(_ cause: RedisError.Cause, _ refusal: RedisServerError?) {
        if self.breaker.state == .closed { self.observe(false) }
        self.handler = nil
        self.channel = nil
        if let refusal { self.lastRefusal = refusal }
        self.endFirstAttempt()
        let pause = self.breaker.failed(chance: Double.random(in: 0...1))
        guard !self.isShutDown else { return }
        let link = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleTask(in: TimeAmount(pause)) { link.value.connect() }
    }

    private func endFirstAttempt() {
        self.firstAttempt?.succeed(())
        self.firstAttempt = nil
    }
}
