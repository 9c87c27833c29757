import NIOCore
import NIOSSL
import NIOTLS
import Transport

/// A client's connection over TLS. It is the last handler in a channel pipeline in which NIOSSL encrypts.
final class TLSClientStream: TLSPipelineEnd, ClientByteStream {
    private let tls: NIOSSLServerHandler
    private let watch: HandshakeWatch
    /// The opening that waits for the handshake. `nil` once the handshake has ended.
    private var observer: ClientOpening?
    private var inputHasEnded = false

    /// - Parameters:
    ///   - socket: The client's socket, which is already being read.
    ///   - context: The context with the chosen certificate.
    ///   - room: The number of bytes that the client may send until the handshake has ended.
    ///   - observer: The opening. It handles the stream until `start`.
    init(_ socket: StreamSocket, _ context: NIOSSLContext, room: Int, _ observer: ClientOpening) {
        self.tls = NIOSSLServerHandler(context: context)
        self.watch = HandshakeWatch(room: room)
        self.observer = observer
        super.init(socket)
        self.handler = observer
    }

    /// Begins the handshake with the bytes that the client has sent.
    ///
    /// - Throws: An error if the socket has closed.
    func shakeHands(_ bytes: inout ByteBuffer) throws {
        let channel = try PipelineChannel.begin(self.socket) { channel in
            try channel.pipeline.syncOperations.addHandlers([self.watch, self.tls, self])
        }
        channel.received(&bytes)
    }

    override func close() {
        if self.observer == nil { super.close() } else { self.socket.close() }
    }

    func reset() {
        self.socket.reset()
    }

    /// Acknowledges the client's bytes at the end of this turn, unless data is received or sent before.
    func acknowledge(on loop: PathLoop) {
        self.isUnacknowledged = true
        loop.flushSoon(self)
    }

    // MARK: The pipeline

    override func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let name): self.handshakeEnded(context, name)
        case ChannelEvent.inputClosed: self.inputEnded()
        case ChannelEvent.outputClosed: self.handler?.outputEnded()
        case PipelineChannel.Event.allSent: self.handler?.allSent()
        default: break
        }
    }

    private func handshakeEnded(_ context: ChannelHandlerContext, _ name: String?) {
        guard let observer = self.observer.take() else { return }
        self.watch.isOver = true
        context.pipeline.syncOperations.removeHandler(self.watch, promise: nil)
        let certificate = try? self.tls.peerCertificate?.toDERBytes()
        observer.handshakeEnded(
            TLSAgreement(flight: self.watch.flight, applicationProtocol: name, clientCertificate: certificate)
        )
    }

    private func inputEnded() {
        guard !self.inputHasEnded else { return }
        self.inputHasEnded = true
        if self.handler?.inputEnded() != true { self.close() }
    }

    override func channelInactive(context: ChannelHandlerContext) {
        self.observer = nil
        super.channelInactive(context: context)
    }

    override func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Many clients end without close_notify. Whether a body is complete is decided by its own framing.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        self.isClean = false
        if let observer = self.observer.take() {
            observer.handshakeFailed(byClientCertificate: Self.isAboutClient(error))
        }
        // NIOSSL itself closes the channel after its errors, once an alert has been sent.
    }

    private static func isAboutClient(_ error: any Error) -> Bool {
        let text = "\(error)".utf8
        return ["CERTIFICATE_VERIFY_FAILED", "PEER_DID_NOT_RETURN_A_CERTIFICATE"].contains { text.contains($0.utf8) }
    }
}

extension TLSClientStream: TurnEndSender {
    func send() {
        guard self.isUnacknowledged else { return }
        self.isUnacknowledged = false
        self.socket.acknowledge()
    }
}
