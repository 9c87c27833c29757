import Glibc
import NIOCore
import NIOSSL
import Transport

/// One request to an admin listener and its whole answer, over a connection of its own.
struct AdminExchange: Sendable {
    /// The event loop of all exchanges. `nil` if the system has no thread for it.
    private static let loop = try? TransportGroup(count: 1).loops.first
    /// The limit for an answer in bytes, above the size of a page of sessions.
    private static let longestAnswer = 1 << 20

    private let request: String
    private let place: String
    private let trust: AdminTarget.Trust?
    private let patience: TimeAmount

    /// - Parameters:
    ///   - place: The listener in messages.
    ///   - trust: The trusted certificates. `nil` for a listener without TLS.
    ///   - patience: The time limit for connecting, and for the answer.
    init(_ request: String, with place: String, trusting trust: AdminTarget.Trust?, within patience: TimeAmount) {
        self.request = request
        self.place = place
        self.trust = trust
        self.patience = patience
    }

    /// Sends the request, blocks until the listener ends the connection, and returns what it has sent.
    func bytes(from peer: SocketAddress) throws(AdminProbe.Failure) -> [UInt8] {
        guard let loop = Self.loop else { throw AdminProbe.Failure(description: "no thread to ask \(self.place)") }
        let answer = loop.makePromise(of: [UInt8].self)
        let connected = PipelineChannel.connect(to: peer, on: loop, timeout: self.patience) { channel in
            if let tls = try self.tls(answer) { try channel.pipeline.syncOperations.addHandler(tls) }
            let collector = AnswerCollector(self.request, answer, limit: Self.longestAnswer)
            try channel.pipeline.syncOperations.addHandler(collector)
        }
        connected.whenFailure { error in
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "it took too long"
            answer.fail(AdminProbe.Failure(description: "\(self.place) cannot be reached: \(reason)"))
        }
        connected.whenSuccess { channel in
            let timer = loop.scheduleTask(in: self.patience) {
                answer.fail(AdminProbe.Failure(description: "\(self.place) does not answer: it took too long"))
                channel.close(promise: nil)
            }
            answer.futureResult.whenComplete { _ in timer.cancel() }
        }
        do {
            return try answer.futureResult.wait()
        } catch {
            throw (error as? AdminProbe.Failure)
                ?? AdminProbe.Failure(description: "\(self.place) \(Self.words(of: error))")
        }
    }

    /// Returns the handler that encrypts. `nil` without TLS.
    private func tls(_ answer: EventLoopPromise<[UInt8]>) throws -> NIOSSLClientHandler? {
        guard let trust = self.trust else { return nil }
        var configuration = TLSConfiguration.makeClientConfiguration()
        // The system's authorities are not used, because an image may not have them.
        configuration.trustRoots = .certificates([])
        // Certificates usually do not contain the listener's address. The callback verifies them instead.
        configuration.certificateVerification = .noHostnameVerification
        return try NIOSSLClientHandler(
            context: try NIOSSLContext(configuration: configuration),
            serverHostname: nil,
            customVerificationCallback: { certificates, verdict in
                let isTaken = trust.takes(certificates.first)
                if !isTaken { answer.fail(AdminProbe.Failure(description: "\(self.place) \(Self.foreign)")) }
                verdict.succeed(isTaken ? .certificateVerified : .failed)
            }
        )
    }

    /// Returns why the connection failed. The TLS library's own text would contain names of its source files.
    private static func words(of error: any Error) -> String {
        if let error = error as? IOError { return "does not answer: \(String(cString: strerror(error.errnoCode)))" }
        let text = "\(error)".utf8
        let isPlain = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST"].contains { text.firstRange(of: $0.utf8) != nil }
        if isPlain { return "answers without TLS: remove https:// if admin.listen has no TLS" }
        return error is NIOSSLError || error is BoringSSLError
            ? "fails in the TLS handshake: see its log" : "cannot be asked over TLS: \(error)"
    }

    private static let foreign =
        "presents a certificate that is not in tls.certificates of these settings, so nothing was sent; a renewed one is in use within a minute"
}

/// Sends a request and collects the whole answer.
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
        // A whole answer may end without close_notify. An answer without a complete head is rejected later.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        self.answer.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.answer.succeed(self.bytes)
    }
}
