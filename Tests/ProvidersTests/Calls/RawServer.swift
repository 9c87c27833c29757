import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on loopback that reads one request of a connection and writes bytes that a test chose.
final class RawServer: Sendable {
    /// What it does with a request.
    enum Reaction: Sendable {
        case answer(String)
        case bytes([UInt8])
        /// Closes without an answer.
        case close
        /// Writes and closes.
        case answerAndClose(String)
        case silence
    }

    private let channel: any Channel
    private let state: Log

    fileprivate final class Log: Sendable {
        let requests = Mutex<[String]>([])
        let connections = Mutex(0)
        /// Requests without an answer.
        let pending = Mutex<[(request: String, channel: any Channel)]>([])
    }

    private init(_ channel: any Channel, _ state: Log) {
        self.channel = channel
        self.state = state
    }

    static func start(
        _ group: any EventLoopGroup,
        tls: NIOSSLContext? = nil,
        reaction: @escaping @Sendable (String) -> Reaction
    ) async throws -> RawServer {
        let state = Log()
        let channel = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    state.connections.withLock { $0 += 1 }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(RawHandler(state, reaction))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return RawServer(channel, state)
    }

    var port: Int { self.channel.localAddress?.port ?? 0 }
    /// Every request as it came.
    var requests: [String] { self.state.requests.withLock { $0 } }
    var connections: Int { self.state.connections.withLock { $0 } }

    /// Answers the requests that begin with `prefix` and to which the reaction was silence.
    func answer(_ prefix: String, with answer: String) {
        for (request, channel) in self.state.pending.withLock({ $0 }) where request.hasPrefix(prefix) {
            channel.writeAndFlush(ByteBuffer(string: answer), promise: nil)
        }
    }

    func stop() async throws {
        try await self.channel.close()
    }
}

private final class RawHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let state: RawServer.Log
    private let reaction: @Sendable (String) -> RawServer.Reaction
    private var text = ""

    init(_ state: RawServer.Log, _ reaction: @escaping @Sendable (String) -> RawServer.Reaction) {
        self.state = state
        self.reaction = reaction
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.text += String(buffer: self.unwrapInboundIn(data))
        guard let head = self.text.firstRange(of: "\r\n\r\n") else { return }
        let length = self.text[..<head.lowerBound].lowercased().split(separator: "\r\n").compactMap { line in
            line.hasPrefix("content-length: ") ? Int(line.dropFirst(16)) : nil
        }.first
        guard self.text[head.upperBound...].utf8.count >= length ?? 0 else { return }
        let request = self.text
        self.text = ""
        self.state.requests.withLock { $0.append(request) }
        switch self.reaction(request) {
        case .answer(let answer): context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        case .bytes(let bytes): context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
        case .close: context.close(promise: nil)
        case .answerAndClose(let answer):
            context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            context.close(promise: nil)
        case .silence: self.state.pending.withLock { [channel = context.channel] in $0.append((request, channel)) }
        }
    }
}
