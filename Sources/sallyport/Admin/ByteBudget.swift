import NIOCore

/// Counts what arrives for one request: the decoder bounds fields, but neither the request line nor pipelined requests.
/// What is too large is answered here, in front of the codec, which may be in the middle of a message.
final class ByteBudget: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How far the request has come whose bytes are counted.
    enum Stage { case head, body, answering }

    /// How long a client has to read why it was refused (RFC 9112 9.6).
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

    /// The request is whole and answered: what comes now belongs to the next.
    func renew() {
        self.used = 0
        self.stage = .head
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Read away: closing with bytes unread would destroy the answer on its way.
        if self.isRefusing { return }
        self.used += self.unwrapInboundIn(data).readableBytes
        if self.used <= self.limit { return context.fireChannelRead(data) }
        switch self.stage {
        case .head: self.refuse("431 Request Header Fields Too Large")
        case .body: self.refuse("413 Content Too Large")
        case .answering: context.close(promise: nil)
        }
    }

    /// Tells a client whose body may come to send it (RFC 9110 10.1.1).
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
