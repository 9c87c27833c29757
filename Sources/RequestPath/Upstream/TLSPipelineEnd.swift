import NIOCore
import Transport

/// The last handler of a pipeline that uses NIOSSL, for connections to clients and to apps. Hands bytes to a
/// `StreamHandler`. Reading can be paused.
///
/// Declares every handler method that subclasses override. NIO would not call a method that only a subclass declares.
class TLSPipelineEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The socket of the channel.
    final let socket: StreamSocket
    /// The handler's context. `nil` while the handler is not in a pipeline.
    final private(set) var context: ChannelHandlerContext?
    /// The receiver of the bytes and events.
    final var handler: (any StreamHandler)?
    /// True until an error occurs after which bytes may be missing.
    final var isClean = true
    /// Whether the peer's last bytes must still be acknowledged. Further bytes in either direction do so.
    final var isUnacknowledged = false
    /// The number of bytes that NIOSSL holds until `flush`.
    final private var heldBytes = 0
    private var gate = ReadGate()

    init(_ socket: StreamSocket) {
        self.socket = socket
    }

    /// Hands all later bytes and events to `handler`.
    ///
    /// - Throws: `ChannelError` if the connection has closed.
    final func start(_ handler: any StreamHandler) throws {
        guard self.context != nil, self.socket.isOpen else { throw ChannelError.ioOnClosedChannel }
        self.handler = handler
    }

    // MARK: Bytes to the peer

    final var isWritable: Bool { self.socket.isWritable }
    final var hasUnreadBytes: Bool { self.socket.hasUnreadBytes }
    /// The number of unacknowledged bytes of the encrypted stream. Encryption adds a few bytes to the written bytes.
    final var unacknowledgedBytes: Int { self.socket.unacknowledgedBytes }
    final var unsentBytes: Int { self.socket.unsentBytes + self.heldBytes }

    final func write(_ bytes: ByteBuffer) {
        guard let context = self.context, bytes.readableBytes > 0 else { return }
        self.heldBytes += bytes.readableBytes
        self.isUnacknowledged = false
        context.write(NIOAny(bytes), promise: nil)
    }

    final func writeAndFlush(_ bytes: ByteBuffer) {
        self.write(bytes)
        self.flush()
    }

    final func flush() {
        guard self.heldBytes > 0 else { return }
        self.heldBytes = 0
        self.context?.flush()
    }

    /// Sends close_notify and then the end of the stream.
    final func endOutput() {
        self.flush()
        self.context?.close(mode: .output, promise: nil)
    }

    /// Sends close_notify, which tells the peer that the data is complete, and closes without waiting for the peer's.
    /// During the handshake, closes at once.
    func close() {
        self.socket.close(behind: self.endOutput)
    }

    // MARK: Back-pressure

    final var isPaused: Bool { self.gate.isPaused }

    final func pause() {
        self.gate.pause()
    }

    final func resume() {
        if self.gate.resume() { self.context?.read() }
    }

    // MARK: The pipeline

    final func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    final func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    final func read(context: ChannelHandlerContext) {
        if self.gate.read() { context.read() }
    }

    final func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = self.unwrapInboundIn(data)
        self.isUnacknowledged = false
        self.handler?.received(&buffer)
    }

    final func channelWritabilityChanged(context: ChannelHandlerContext) {
        if self.isWritable { self.handler?.becameWritable() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.heldBytes = 0
        self.handler.take()?.closed(isClean: self.isClean)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.isClean = false
        context.close(promise: nil)
    }
}
