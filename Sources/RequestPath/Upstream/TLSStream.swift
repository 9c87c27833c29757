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

    init(_ judge: @escaping (any Error, NIOSSLCertificate?) -> TLSFault?) {
        self.judge = judge
    }

    /// Hands all later bytes and events to `handler`. Called when the channel has connected.
    ///
    /// - Throws: `ChannelError` if the channel has closed meanwhile.
    func start(_ handler: any StreamHandler) throws {
        guard self.isOpen else { throw ChannelError.ioOnClosedChannel }
        self.handler = handler
    }

    var isOpen: Bool { self.context?.channel.isActive == true }

    /// Closes the connection because the TLS handshake takes too long.
    func giveUp() {
        self.fault = .late
        self.close()
    }

    // MARK: Bytes to the app

    var isWritable: Bool { self.context?.channel.isWritable ?? false }

    var hasUnreadBytes: Bool { (self.context?.channel as? PipelineChannel)?.hasUnreadBytes ?? false }

    /// The number of encrypted bytes without an acknowledgement. It slightly exceeds the number of plain bytes.
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
