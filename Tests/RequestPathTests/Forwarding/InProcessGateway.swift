import Endpoints
import NIOCore
import NIOPosix
import Observability
import RequestPath
import Sessions
import Settings
import SignOn
import Transport
import Vocabulary

/// The request path on one event loop with a real listener. The server behind it answers with the request that reached
/// it. For endpoints that no settings can configure.
final class InProcessGateway: Sendable {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let transport: TransportGroup
    private let upstream: any Channel
    private let listener: Listener
    private let loops: PathLoops

    /// - Parameter host: The only host. Its upstreams `app` and `provider` are the same server.
    init(host: HostSettings, endpoints: [Endpoint], forwarding: [ForwardingEndpoint]) async throws {
        self.transport = try TransportGroup(count: 1)
        let upstream = try await ServerBootstrap(group: self.group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.upstream = upstream
        let settings = Settings(
            hosts: [host],
            upstreams: ["app", "provider"].map {
                UpstreamSettings(name: $0, isHTTPS: false, host: "127.0.0.1", port: upstream.localAddress?.port ?? 0)
            }
        )
        let registry = MetricsRegistry()
        let store = MemoryStore(maxSessions: 1, maxMarkers: 1, clock: .system, caches: SessionCaches())
        let authority = TokenAuthority(secret: Secret("a secret of the tests, 32 bytes or more"))
        let configuration = try PathConfiguration(
            settings,
            endpoints: endpoints,
            forwarding: forwarding,
            registry: registry,
            judging: .forTests(settings, store: store, authority: authority, clock: .system)
        )
        let eventLoop = self.transport.loops[0]
        let loop = try await eventLoop.submit {
            let loop = PathLoop(
                eventLoop: eventLoop,
                configuration: configuration,
                sessions: SessionResolver(
                    loop: eventLoop,
                    cache: SessionCache(),
                    store: store,
                    authority: authority,
                    clock: .system
                ),
                shard: registry.makeShard(on: eventLoop),
                accessLog: nil,
                sessionClock: .system,
                makePool: ServerGroup.maker(on: eventLoop)
            )
            loop.start()
            return PathLoops.Place(loop, on: eventLoop)
        }.get()
        self.loops = PathLoops([loop])
        self.listener = try await Listener.bind(
            ListenAddress(host: "127.0.0.1", port: 0),
            loops: self.loops,
            gate: ConnectionGate(settings.limits, trusted: [])
        )
    }

    /// Sends a request whose head has these lines, on its own connection, and returns all received bytes.
    func send(_ lines: [String], body: String = "") async throws -> String {
        let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
        let text = (lines + length + ["Connection: close"]).joined(separator: "\r\n") + "\r\n\r\n" + body
        let answer = self.group.next().makePromise(of: String.self)
        let channel = try await ClientBootstrap(group: self.group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(CollectHandler(answer))
                }
            }
            .connect(host: "127.0.0.1", port: self.listener.port).get()
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
        return try await answer.futureResult.get()
    }

    func stop() async throws {
        await self.listener.close()
        await self.loops.onEach { $0.closeAll() }
        try await self.upstream.close().get()
        try await self.group.shutdownGracefully()
        try await self.transport.shutdownGracefully()
    }
}

/// Answers each request with its own bytes and a cookie.
private final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var received = ""

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received += String(buffer: self.unwrapInboundIn(data))
        guard let end = self.received.firstRange(of: "\r\n\r\n")?.upperBound else { return }
        let length = self.received[..<end].lowercased().split(separator: "\r\n")
            .first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
        guard self.received[end...].utf8.count >= length ?? 0 else { return }
        let head =
            "HTTP/1.1 200 OK\r\nContent-Length: \(self.received.utf8.count)\r\nSet-Cookie: provider=new; Path=/\r\n\r\n"
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: head + self.received)), promise: nil)
        self.received = ""
    }
}

/// Collects bytes until the other side closes the connection.
private final class CollectHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var received = ""
    private let answer: EventLoopPromise<String>

    init(_ answer: EventLoopPromise<String>) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.received += String(buffer: self.unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.answer.succeed(self.received)
    }
}
