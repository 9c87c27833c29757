import NIOCore

/// Limits the bytes of one request: the decoder limits fields, but neither the request line nor pipelined requests. A
/// refusal is written here, in front of the codec, which may be in the middle of a message.
final class ByteBudget: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The stage of the request whose bytes are counted.
    enum Stage { case head, body, answering }

    /// The time in which a refused client can read the answer (RFC 9112 9.6).
    private static let patience: TimeAmount = .seconds(2)

    var stage = Stage.head
    private(set) var isRefusing = false
    private let limit: Int
    private var used = 0
    private var context: ChannelHandlerContext?

    init(_ limit: Int) {
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    /// The request is complete and answered: further bytes belong to the next one.
    func renew() {
        self.used = 0
        self.stage = .head
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Discarded: closing with unread bytes would destroy the answer that is being sent.
        if self.isRefusing { return }
        self.used += self.unwrapInboundIn(data).readableBytes
        if self.used <= self.limit { return context.fireChannelRead(data) }
        switch self.stage {
        case .head: self.refuse("431 Request Header Fields Too Large")
        case .body: self.refuse("413 Content Too Large")
        case .answering: context.close(promise: nil)
        }
    }

    /// Tells a client that it may send the body (RFC 9110 10.1.1).
    func invite() {
        self.write("HTTP/1.1 100 Continue\r\n\r\n")
    }

    /// Answers with `status` and its phrase, and closes.
    func refuse(_ status: String) {
        guard let context = self.context, !self.isRefusing else { return }
        self.isRefusing = true
        let text = "\(status)\n"
        self.write(
            "HTTP/1.1 \(status)\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: \(text.utf8.count)\r\n"
                + "Connection: close\r\n\r\n\(text)"
        )
        context.close(mode: .output, promise: nil)
        let place = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.patience) { place.value.close(promise: nil) }
    }

    private func write(_ text: String) {
        guard let context = self.context else { return }
        context.writeAndFlush(self.wrapOutboundOut(context.channel.allocator.buffer(string: text)), promise: nil)
    }
}
