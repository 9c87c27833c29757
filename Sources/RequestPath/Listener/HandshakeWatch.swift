import NIOCore

/// A handler between TLS and the socket until the handshake has ended. It reads the agreed parameters, and closes the
/// connection of a client that sends too much.
final class HandshakeWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var flight = ServerFlight()
    /// The number of bytes that the client may still send.
    private var room: Int
    /// Set when the handshake has succeeded.
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
        // The first request may be read together with the client's last handshake message. No limit applies to it here.
        guard self.isOver else { return context.close(promise: nil) }
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.flight.read(self.unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }
}
