package import NIOCore
internal import NIOSSL
import Synchronization

/// Redis for all event loops: one pipelined connection for each.
package final class RedisClient: Sendable {
    private let links: [ObjectIdentifier: NIOLoopBoundBox<RedisLink>]
    private let loops: [any EventLoop]
    private let upCount: Counter

    /// Counts links that are up; a class of its own because closures share it.
    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    /// A client for the loops of `group`. Nothing is connected before `start()`.
    ///
    /// - Throws: what NIOSSL says of a certificate, key or authority file that cannot be used.
    package init(configuration: RedisConfiguration, group: any EventLoopGroup) throws {
        let tls = try configuration.tls.map { try NIOSSLContext(configuration: Self.tlsConfiguration($0)) }
        let counter = Counter()
        var links: [ObjectIdentifier: NIOLoopBoundBox<RedisLink>] = [:]
        var loops: [any EventLoop] = []
        for loop in group.makeIterator() {
            let link = RedisLink(loop: loop, configuration: configuration, tls: tls) { isUp in
                counter.value.add(isUp ? 1 : -1, ordering: .relaxed)
            }
            links[ObjectIdentifier(loop)] = NIOLoopBoundBox.makeBoxSendingValue(link, eventLoop: loop)
            loops.append(loop)
        }
        self.links = links
        self.loops = loops
        self.upCount = counter
    }

    /// How many loops have a connection that serves.
    package var connectedLoops: Int { self.upCount.value.load(ordering: .relaxed) }

    /// How many loops there are.
    package var loopCount: Int { self.loops.count }

    /// Begins to connect on every loop and waits until each has tried once. A Redis that is not there is no error: it is
    /// tried again and again.
    package func start() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for loop in self.loops {
                group.addTask { try await self.on(loop) { $0.start() }.get() }
            }
            try await group.waitForAll()
        }
    }

    /// Answers what was asked and closes; commands fail from now on.
    package func shutDown() async throws {
        for loop in self.loops { try await self.on(loop) { $0.shutDown() }.get() }
    }

    /// Sends one command. Commands of one tick leave together, in order, over one connection.
    ///
    /// The future succeeds with the reply, which may be an error reply, or fails with a `RedisError`.
    package func send(_ command: RedisCommand, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.on(loop) { $0.send(command) }
    }

    /// The same, but waits at most so long for a connection; only for reading back what became of a lost answer.
    package func sendWhenUp(
        _ command: RedisCommand,
        within patience: Duration,
        on loop: any EventLoop
    ) -> EventLoopFuture<RedisReply> {
        self.on(loop) { $0.sendWhenUp(command, within: patience) }
    }

    /// Runs a script in the same way.
    package func evaluate(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.on(loop) { $0.evaluate(call) }
    }

    /// The error for which the loop's last handshake failed, e.g. `WRONGPASS`; nil when it did not.
    package func lastRefusal(on loop: any EventLoop) -> EventLoopFuture<RedisServerError?> {
        self.on(loop) { link in loop.makeSucceededFuture(link.lastRefusal) }
    }

    private func on<Answer: Sendable>(
        _ loop: any EventLoop,
        _ step: @escaping @Sendable (RedisLink) -> EventLoopFuture<Answer>
    ) -> EventLoopFuture<Answer> {
        guard let link = self.links[ObjectIdentifier(loop)] else {
            return loop.makeFailedFuture(RedisError.notSent(.notConnected))
        }
        if loop.inEventLoop { return step(link.value) }
        return loop.flatSubmit { step(link.value) }
    }

    private static func tlsConfiguration(_ tls: RedisConfiguration.TLS) throws -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let file = tls.authorityFile { configuration.trustRoots = .file(file) }
        if let file = tls.certificateFile {
            configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
        }
        if let file = tls.keyFile {
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
        }
        return configuration
    }
}
