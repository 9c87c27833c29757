import Endpoints

/// One of the gateway's own answers, given before the whole request body had arrived. A class, because few connections
/// ever have one.
final class EarlyAnswer {
    let head: LocalAnswerHead
    let hasContent: Bool

    init(_ head: LocalAnswerHead, hasContent: Bool) {
        self.head = head
        self.hasContent = hasContent
    }

    /// The number of waiting content bytes.
    var byteCount: Int { self.hasContent ? self.head.answer.response.body.count : 0 }
}
