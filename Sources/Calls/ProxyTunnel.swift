import Cryptography
import NIOCore
import Settings
import Vocabulary

/// Opens a tunnel through a proxy (RFC 9110 9.3.6), then passes bytes on. The first handler of a channel.
final class ProxyTunnel: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum length of the head of the proxy's answer in bytes.
    private static let longestHead = 16_384

    /// The maximum number of interim answers.
    private static let maxInterims = 16

    private let question: String
    private var answer = ByteBuffer()
    private var interims = 0
    private var isOpen = false
    private var hasFailed = false
    /// Adds the handlers for the connection through the tunnel.
    private let whenOpen: (any Channel) throws -> Void
    private let whenFailed: (any Error) -> Void

    init(
        to server: CallServer,
        through proxy: OutgoingProxy,
        whenOpen: @escaping (any Channel) throws -> Void,
        whenFailed: @escaping (any Error) -> Void
    ) {
        let authority =
            "\(server.host.utf8.contains(UInt8(ascii: ":")) ? "[\(server.host)]" : server.host):\(server.port)"
        let authorization = proxy.authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        self.question =
            "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\nUser-Agent: sallyport\r\n\(authorization)\r\n"
        self.whenOpen = whenOpen
        self.whenFailed = whenFailed
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: self.question)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isOpen else { return context.fireChannelRead(data) }
        self.answer.writeImmutableBuffer(Self.unwrapInboundIn(data))
        while let end = Self.end(of: self.answer.readableBytesView) {
            guard let status = Self.status(self.answer.readableBytesView) else {
                return self.fail(ProxyRefusal(status: nil), context)
            }
            guard Self.isInterim(status), self.interims < Self.maxInterims else {
                return self.answered(status, hasMore: end < self.answer.writerIndex, context)
            }
            self.interims += 1
            self.answer.moveReaderIndex(to: end)
        }
        if self.answer.readableBytes > Self.longestHead { self.fail(ProxyRefusal(status: nil), context) }
    }

    /// Handles the proxy's final answer.
    private func answered(_ status: Int, hasMore: Bool, _ context: ChannelHandlerContext) {
        guard (200..<300).contains(status) else { return self.fail(ProxyRefusal(status: status), context) }
        // The server behind the proxy waits for the gateway's first byte, so nothing may follow yet.
        guard !hasMore else { return self.fail(ProxyRefusal(status: nil), context) }
        self.isOpen = true
        self.answer = ByteBuffer()
        do {
            try self.whenOpen(context.channel)
        } catch {
            self.fail(error, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if self.isOpen { context.fireErrorCaught(error) } else { self.fail(error, context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !self.isOpen { self.fail(ProxyRefusal(status: nil), context) }
        context.fireChannelInactive()
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        guard !self.hasFailed else { return }
        self.hasFailed = true
        self.whenFailed(error)
        context.close(promise: nil)
    }

    /// Returns whether another answer follows (RFC 9110 15.2). After 101, none does.
    private static func isInterim(_ status: Int) -> Bool { (100..<200).contains(status) && status != 101 }

    /// Returns the index after the empty line at the end of the head; `nil` if the head is incomplete.
    private static func end(of bytes: ByteBufferView) -> Int? {
        var index = bytes.startIndex
        while index + 3 < bytes.endIndex {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D, bytes[index + 3] == 0x0A {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    /// Returns the status of a line such as `HTTP/1.1 200 OK`; `nil` if it has another form.
    private static func status(_ bytes: ByteBufferView) -> Int? {
        let line = bytes.prefix { $0 != 0x0D }
        guard line.starts(with: "HTTP/1.".utf8) else { return nil }
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: true)
        guard parts.count >= 2, parts[1].count == 3, parts[1].allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return parts[1].reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}

/// The proxy does not open a tunnel.
struct ProxyRefusal: Error {
    /// The status of the proxy's answer; `nil` if there was no valid answer.
    let status: Int?
}

extension OutgoingProxy {
    /// The value of `Proxy-Authorization` (RFC 7617); `nil` without a password.
    var authorization: String? { self.credentials.map { "Basic " + Base64.encode($0.bytes) } }
}
