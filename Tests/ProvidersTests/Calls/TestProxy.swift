import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy on loopback that does with each request what a test says.
final class TestProxy: Sendable {
    enum Reaction: Sendable {
        /// Opens the way to this port of this machine, whatever host was asked for, after this text.
        case tunnel(Int, after: String = "")
        case answer(String)
        case close
        case silence
    }

    fileprivate final class Log: Sendable {
        let requests = Mutex<[String]>([])
    }

    private let channel: any Channel
    private let log: Log

    private init(_ channel: any Channel, _ log: Log) {
        self.channel = channel
        self.log = log
    }

    static func start(
        _ group: any EventLoopGroup,
        reaction: @escaping @Sendable (String) -> Reaction
    ) async throws -> TestProxy {
        let log = Log()
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ProxyHandler(log, reaction))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TestProxy(channel, log)
    }

    var port: Int { self.channel.localAddress?.port ?? 0 }
    /// The heads of all requests.
    var requests: [String] { self.log.requests.withLock { $0 } }

    func stop() async throws { try await self.channel.close() }
}

/// Used on one loop, with its peer.
private final class ProxyHandler: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let log: TestProxy.Log
    private let reaction: @Sendable (String) -> TestProxy.Reaction
    private var text = ""
    private var server: (any Channel)?

    init(_ log: TestProxy.Log, _ reaction: @escaping @Sendable (String) -> TestProxy.Reaction) {
        self.log = log
        self.reaction = reaction
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = Self.unwrapInboundIn(data)
        if let server {
            server.writeAndFlush(buffer, promise: nil)
            return
        }
        self.text += String(buffer: buffer)
        guard self.text.hasSuffix("\r\n\r\n") else { return }
        let request = self.text
        self.text = ""
        self.log.requests.withLock { $0.append(request) }
        let client = context.channel
        switch self.reaction(request) {
        case .silence: break
        case .close: context.close(promise: nil)
        case .answer(let text): context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        case .tunnel(let port, let interim):
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { server in
                    server.eventLoop.makeCompletedFuture {
                        try server.pipeline.syncOperations.addHandler(BackHandler(client))
                    }
                }
                .connect(host: "127.0.0.1", port: port)
                .whenComplete { result in
                    switch result {
                    case .success(let server):
                        self.server = server
                        // In two pieces, as a slow proxy may send it.
                        client.writeAndFlush(ByteBuffer(string: interim + "HTTP/1.1 200 Connection est"), promise: nil)
                        client.writeAndFlush(ByteBuffer(string: "ablished\r\nVia: test\r\n\r\n"), promise: nil)
                    case .failure: client.close(promise: nil)
                    }
                }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { self.server?.close(promise: nil) }
}

private final class BackHandler: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let client: any Channel

    init(_ client: any Channel) {
        self.client = client
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.client.writeAndFlush(Self.unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { self.client.close(promise: nil) }
}
