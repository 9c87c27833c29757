import NIOCore

/// One of the gateway's own answers, which was given before all of the request's body had come. An object, because few
/// connections ever have one.
final class EarlyAnswer {
    let head: LocalAnswerHead
    let content: ByteBuffer

    init(_ head: LocalAnswerHead, _ content: ByteBuffer) {
        self.head = head
        self.content = content
    }
}
