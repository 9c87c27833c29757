import NIOCore

/// An app's answer that has arrived whole. It is kept while the request is sent to another server (`retry_on`), and
/// passed on if that server does not answer.
package final class KeptAnswer {
    private let head: ByteBuffer
    private var content = ByteBuffer()

    /// Keeps an answer. `nil` if more or fewer bytes have arrived than its framing says.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes, with the head at the front.
    ///   - isLenient: Whether the forms of old servers are accepted.
    init?(_ head: ResponseHead, _ bytes: ByteBuffer, lenient isLenient: Bool) {
        var rest = bytes
        // A copy, because the bytes are in the loop's large read buffer.
        self.head = ByteBuffer(bytes: rest.readableBytesView.prefix(head.byteCount))
        rest.moveReaderIndex(forwardBy: head.byteCount)
        var body = BodyDecoder(head.framing, ofAnswer: true, lenient: isLenient)
        var content = ByteBuffer()
        let progress = body.decode(&rest) { count, bytes in
            if var part = bytes.readSlice(length: count) { content.writeBuffer(&part) }
        }
        guard progress == .end, rest.readableBytes == 0 else { return nil }
        self.content = content
    }

    /// Passes the answer on, without its trailers.
    ///
    /// - Parameter head: Is filled with the answer's head.
    /// - Returns: False if the settings no longer accept the head. Nothing is then passed on.
    func pass(to receiver: any AnswerReceiver, _ parser: ResponseParser, _ head: ResponseHead) -> Bool {
        let result = self.head.withUnsafeReadableBytes { bytes in
            bytes.baseAddress.map {
                parser.parse(
                    $0.assumingMemoryBound(to: UInt8.self),
                    bytes.count,
                    into: head,
                    answersHead: receiver.method == .head
                )
            }
        }
        guard result == .complete else { return false }
        receiver.answerBegins(head, self.head)
        if self.content.readableBytes > 0 { receiver.takeAnswer(self.content.readableBytes, of: &self.content) }
        receiver.answerEnded()
        return true
    }
}
