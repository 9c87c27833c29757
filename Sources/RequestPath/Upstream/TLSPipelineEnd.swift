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

    /// The handler's context. `nil` while the handler is not in a pipeline.
    final private(set) var context: ChannelHandlerContext?
    /// The receiver of the bytes and events.
    final var handler: (any StreamHandler)?
    /// True until an error occurs after which bytes may be missing.
    final var isClean = true
    /// Whether the peer's last bytes must still be acknowledged. Further bytes in either direction do so.
    final var isUnacknowledged = false
    private var gate = ReadGate()

    final var isPaused: Bool { self.gate.isPaused }

    final func pause() {
        self.gate.pause()
    }

    final func resume() {
        if self.gate.resume() { self.context?.read() }
    }

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

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.handler?.becameWritable() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.handler.take()?.closed(isClean: self.isClean)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.isClean = false
        context.close(promise: nil)
    }
}
