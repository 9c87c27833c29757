import Endpoints

/// One of the gateway's own answers, which was given before all of the request's body had come. An object, because few
/// connections ever have one.
final class EarlyAnswer {
    let head: LocalAnswerHead
    let hasContent: Bool

    init(_ head: LocalAnswerHead, hasContent: Bool) {
        self.head = head
        self.hasContent = hasContent
    }

    /// The number of content bytes that wait.
    var byteCount: Int { self.hasContent ? self.head.answer.response.body.count : 0 }
}
