import NIOCore

/// A handler between TLS and the socket until the handshake has ended. It reads the agreed parameters, and closes the
/// connection if the client sends too many bytes.
final class HandshakeWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var flight = ServerFlight()
    /// The number of bytes that the client may still send.
    private var room: Int
    /// True once the handshake has succeeded.
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
        // The bytes after the handshake belong to the first request. They are not limited here.
        guard self.isOver else { return context.close(promise: nil) }
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.flight.read(self.unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }
}
