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

    init(room: Int) {
        self.room = room
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.room -= self.unwrapInboundIn(data).readableBytes
        guard self.room >= 0 else { return context.close(promise: nil) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.flight.read(self.unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }
}
