import NIOCore
import NIOSSL
import NIOTLS
import Transport

/// A connection to an app over TLS: the last handler of the pipeline in which NIOSSL encrypts.
final class TLSStream: TLSPipelineEnd, ByteStream {
    /// Reads the errors of NIOSSL, with the certificate that the app has shown.
    private let judge: (any Error, NIOSSLCertificate?) -> TLSFault?
    /// Why there is no TLS with the app; nil: there is, or the connection itself has failed.
    private(set) var fault: TLSFault?
    /// Called once: when TLS has come about, or when the connection has ended before.
    var onHandshake: ((_ isComplete: Bool) -> Void)?

    init(_ judge: @escaping (any Error, NIOSSLCertificate?) -> TLSFault?) {
        self.judge = judge
    }

    /// Hands everything that happens to `handler` from now on. Called when the channel has connected.
    ///
    /// - Throws: `ChannelError`, if it has closed meanwhile.
    func start(_ handler: any StreamHandler) throws {
        guard self.isOpen else { throw ChannelError.ioOnClosedChannel }
        self.handler = handler
    }

    /// Whether the connection has not ended.
    var isOpen: Bool { self.context?.channel.isActive == true }

    /// Closes the connection, because TLS takes too long.
    func giveUp() {
        self.fault = .late
        self.close()
    }

    // MARK: Bytes to the app

    var isWritable: Bool { self.context?.channel.isWritable ?? false }

    var hasUnreadBytes: Bool { (self.context?.channel as? PipelineChannel)?.hasUnreadBytes ?? false }

    /// Of the encrypted stream, which is a little longer.
    var unacknowledgedBytes: Int { (self.context?.channel as? PipelineChannel)?.unacknowledgedBytes ?? 0 }

    func write(_ bytes: ByteBuffer) {
        self.context?.write(NIOAny(bytes), promise: nil)
    }

    func writeAndFlush(_ bytes: ByteBuffer) {
        self.context?.writeAndFlush(NIOAny(bytes), promise: nil)
    }

    func flush() {
        self.context?.flush()
    }

    func endOutput() {
        self.context?.close(mode: .output, promise: nil)
    }

    func close() {
        self.context?.close(promise: nil)
    }

    // MARK: The pipeline

    override func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { self.onHandshake.take()?(true) }
    }

    override func channelInactive(context: ChannelHandlerContext) {
        super.channelInactive(context: context)
        self.onHandshake.take()?(false)
    }

    /// After a reset, and if the app closed without close_notify, bytes may be missing.
    override func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if self.fault == nil {
            let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            self.fault = self.judge(error, tls?.peerCertificate)
        }
        super.errorCaught(context: context, error: error)
    }
}
