import NIOCore
import NIOSSL
import Settings
import Transport

#if canImport(Glibc)
import Glibc
#endif

/// Requests to admin listeners with TLS.
extension AdminProbe {
    /// The event loop of all requests; `nil` if the system has no thread for it.
    private static let loop = try? TransportGroup(count: 1).loops.first

    /// Sends a request on a connected socket, and returns the whole answer. Closes the socket.
    static func exchange(
        _ request: String,
        _ socket: Int32,
        to address: ListenAddress,
        trusting trust: AdminTarget.Trust,
        seconds: Int,
        place: String
    ) throws(Failure) -> [UInt8] {
        guard let loop = self.loop else {
            close(socket)
            throw Failure(description: "no thread to ask \(place)")
        }
        let answer = loop.makePromise(of: [UInt8].self)
        // The socket was connected in blocking mode, which would block the event loop.
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        let connected = loop.submit {
            let stream = StreamSocket(socket, on: loop)
            let peer = try SocketAddress.makeAddressResolvingHost(address.host, port: address.port)
            return try PipelineChannel.begin(stream, to: peer) { channel in
                var configuration = TLSConfiguration.makeClientConfiguration()
                // An image may not have the system's authorities.
                configuration.trustRoots = .certificates([])
                // Certificates rarely contain the listener's address, so the callback verifies them.
                configuration.certificateVerification = .noHostnameVerification
                let tls = try NIOSSLClientHandler(
                    context: try NIOSSLContext(configuration: configuration),
                    serverHostname: nil,
                    customVerificationCallback: { certificates, verdict in
                        let isTaken = trust.takes(certificates.first)
                        if !isTaken { answer.fail(Failure(description: "\(place) \(Self.foreign)")) }
                        verdict.succeed(isTaken ? .certificateVerified : .failed)
                    }
                )
                let collector = AnswerCollector(request, answer, limit: Self.longestAnswer)
                try channel.pipeline.syncOperations.addHandlers([tls, collector])
            }
        }
        connected.whenFailure { answer.fail($0) }
        connected.whenSuccess { channel in
            let timer = loop.scheduleTask(in: .seconds(Int64(seconds))) {
                answer.fail(Failure(description: "\(place) does not answer: it took too long"))
                channel.close(promise: nil)
            }
            answer.futureResult.whenComplete { _ in timer.cancel() }
        }
        do {
            return try answer.futureResult.wait()
        } catch {
            throw (error as? Failure) ?? Failure(description: "\(place) \(Self.words(of: error))")
        }
    }

    /// Explains a failed TLS connection. The library's own texts contain names of its source files.
    private static func words(of error: any Error) -> String {
        let text = "\(error)".utf8
        let isPlain = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST"].contains { text.firstRange(of: $0.utf8) != nil }
        if isPlain { return "answers without TLS: remove https:// if admin.listen has no TLS" }
        return error is NIOSSLError || error is BoringSSLError
            ? "fails in the TLS handshake: see its log" : "cannot be asked over TLS: \(error)"
    }

    private static let foreign =
        "presents a certificate that is not in tls.certificates of these settings, so nothing was sent; a renewed one is in use within a minute"
}

/// Sends a request, and collects the answer until the connection is closed.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: String
    private let answer: EventLoopPromise<[UInt8]>
    private let limit: Int
    private var bytes: [UInt8] = []

    init(_ request: String, _ answer: EventLoopPromise<[UInt8]>, limit: Int) {
        self.request = request
        self.answer = answer
        self.limit = limit
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: self.request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.bytes += Self.unwrapInboundIn(data).readableBytesView
        if self.bytes.count > self.limit { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The peer closed without close_notify. `channelInactive` completes the answer with the bytes so far.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        self.answer.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.answer.succeed(self.bytes)
    }
}
