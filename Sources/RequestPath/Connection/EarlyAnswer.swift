import Endpoints

/// An answer by the gateway, given before the whole request body has arrived.
final class EarlyAnswer {
    let head: LocalAnswerHead
    let hasContent: Bool

    init(_ head: LocalAnswerHead, hasContent: Bool) {
        self.head = head
        self.hasContent = hasContent
    }

    /// The number of content bytes that wait to be sent.
    var byteCount: Int { self.hasContent ? self.head.answer.response.body.count : 0 }
}
