import NIOCore
import NIOSSL
import NIOTLS
import Transport

/// A connection to an app over TLS: the last handler of a pipeline that uses NIOSSL.
final class TLSStream: TLSPipelineEnd, ByteStream {
    /// Turns an error of NIOSSL into a fault, given the app's certificate.
    private let judge: (any Error, NIOSSLCertificate?) -> TLSFault?
    /// The reason why TLS failed. `nil` if TLS has not failed, or if the connection itself failed.
    private(set) var fault: TLSFault?
    /// Called once, when the handshake is complete or the connection ends before that.
    var onHandshake: ((_ isComplete: Bool) -> Void)?

    /// - Parameter socket: A connected socket. The caller adds this handler to the socket's channel.
    init(_ socket: StreamSocket, _ judge: @escaping (any Error, NIOSSLCertificate?) -> TLSFault?) {
        self.judge = judge
        super.init(socket)
    }

    var isOpen: Bool { self.socket.isOpen }

    /// Closes the connection because the TLS handshake takes too long.
    func giveUp() {
        self.fault = .late
        self.close()
    }

    override func close() {
        if self.onHandshake == nil { super.close() } else { self.socket.close() }
    }

    // MARK: The pipeline

    override func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { self.onHandshake.take()?(true) }
    }

    override func channelInactive(context: ChannelHandlerContext) {
        super.channelInactive(context: context)
        self.onHandshake.take()?(false)
    }

    /// Records the fault. The stream closes as unclean, because bytes may be missing after a reset or without
    /// close_notify.
    override func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if self.fault == nil {
            let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            self.fault = self.judge(error, tls?.peerCertificate)
        }
        super.errorCaught(context: context, error: error)
    }
}
