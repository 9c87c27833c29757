import NIOCore
import NIOSSL
import Transport

/// A connection to an app over TLS: the last handler of the pipeline in which NIOSSL encrypts.
final class TLSStream: ChannelDuplexHandler, ByteStream {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?
    private var handler: (any StreamHandler)?
    private var gate = ReadGate()
    /// False after a reset, and if the app closed without close_notify: bytes may be missing.
    private var isClean = true
    /// Reads the errors of NIOSSL, with the certificate that the app has shown.
    private let judge: (any Error, NIOSSLCertificate?) -> TLSFault?
    /// Why there is no TLS with the app; nil: there is, or the connection itself has failed.
    private(set) var fault: TLSFault?

    init(_ judge: @escaping (any Error, NIOSSLCertificate?) -> TLSFault?) {
        self.judge = judge
    }

    /// Hands everything that happens to `handler` from now on. Called when the channel has connected.
    ///
    /// - Throws: `ChannelError`, if it has closed meanwhile.
    func start(_ handler: any StreamHandler) throws {
        guard self.context?.channel.isActive == true else { throw ChannelError.ioOnClosedChannel }
        self.handler = handler
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

    func pause() {
        self.gate.pause()
    }

    func resume() {
        if self.gate.resume() { self.context?.read() }
    }

    func endOutput() {
        self.context?.close(mode: .output, promise: nil)
    }

    func close() {
        self.context?.close(promise: nil)
    }

    // MARK: The pipeline

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func read(context: ChannelHandlerContext) {
        if self.gate.read() { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = self.unwrapInboundIn(data)
        self.handler?.received(&buffer)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.handler?.becameWritable() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.handler.take()?.closed(isClean: self.isClean)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.isClean = false
        if self.fault == nil {
            let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            self.fault = self.judge(error, tls?.peerCertificate)
        }
        context.close(promise: nil)
    }
}
