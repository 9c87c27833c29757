import NIOCore

/// Stands between TLS and the socket until the handshake has ended: reads what is agreed on, and ends a client that sends
/// too much.
final class HandshakeWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var flight = ServerFlight()
    /// How many bytes the client may still send.
    private var room: Int
    /// Set when the handshake has ended well.
    var isOver = false

    init(room: Int) {
        self.room = room
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        guard bytes.readableBytes > self.room, let first = bytes.readSlice(length: self.room) else {
            self.room -= bytes.readableBytes
            return context.fireChannelRead(data)
        }
        self.room = 0
        let channel = context.channel
        context.fireChannelRead(NIOAny(first))
        guard channel.isActive else { return }
        // A client sends its request behind its last message, and both may be read at once: an upload is not too much.
        guard self.isOver else { return context.close(promise: nil) }
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.flight.read(self.unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }
}
