import NIOCore
import Transport
import Vocabulary

/// How the exchange handles the app's content.
enum AnswerContent {
    case plain, events
    /// Content in which references to the app become public ones (`MultistatusBody`).
    case multistatus
}

/// The progress of the current exchange, and its deadlines.
struct ExchangeFacts: ~Copyable {
    var isOpen = false
    var lastProgress = NIODeadline.uptimeNanoseconds(0)
    var method = KnownMethod.other
    /// True for a HEAD request. Its answer has no content.
    var wantsHeadOnly = false
    /// True if the request has a body, even an empty one.
    var hasBody = false
    /// True if the body has a declared length other than 0.
    var hasSizedBody = false
    /// True if the whole body has arrived.
    var isRequestWhole = true
    var isWebSocket = false
    /// True if a refusal is answered with a page for a person.
    var wantsPage = false
    /// The index of the page's language in `PageDesign.languages`.
    var pageLanguage: UInt8 = 0
    /// The app's pool from the configuration that chose the route.
    var pool: (any AppPool)?
    /// True if the session ended during the request.
    var hasSessionEnded = false
    /// The reason to record at the end of the answer. `nil` if the client gets the expected answer.
    var endReason: Reason?
    /// Watches whether the client accepts the answer.
    var clientOutput = OutputWatch()
    var appOutput = OutputWatch()
    /// True if the app has received the whole request.
    var isRequestTaken = false
    /// True if content was forwarded in either direction since the last call of `noteUse`.
    var hasPayload = false
    /// The number of bytes from the client in a tunnel.
    var tunnelInput = 0
    /// The state of reading the lines of an event stream.
    var eventLines = EventStreamLines()
    var hasBegunAnswer = false
    var content = AnswerContent.plain
    /// True if the app's answer is an event stream.
    var isEventStream: Bool { self.content == .events }
    /// True if the request is sent a second time, on another stream.
    var isRepeated = false
    /// The app's servers that failed for this request (`StreamWaiter.failedServers`).
    var failedServers: UInt64 = 0
    /// When the head was sent to the app. `nil` if it was not sent or the request is not recorded.
    var sentAt: NIODeadline?
    var responseDeadline = NIODeadline.distantFuture
    /// When a queued request stops waiting for a stream, or an `expecting` request for its body.
    var waitDeadline = NIODeadline.distantFuture
}
