import NIOCore
import Transport
import Vocabulary

/// The kind of an app's content, as far as it matters to the exchange.
enum AnswerContent {
    case plain, events
    /// Content whose references are changed to public ones (`MultistatusBody`).
    case multistatus
}

/// The progress of the current exchange, and its deadlines.
struct ExchangeFacts: ~Copyable {
    var isOpen = false
    var lastProgress = NIODeadline.uptimeNanoseconds(0)
    var method = KnownMethod.other
    /// True for a HEAD request. Its answer has no content.
    var wantsHeadOnly = false
    /// Whether the request has a body. The body may turn out to be empty.
    var hasBody = false
    /// Whether the body has a declared length other than 0.
    var hasSizedBody = false
    /// Whether the whole body has arrived.
    var isRequestWhole = true
    var isWebSocket = false
    /// Whether a refusal is a page for a person instead of a document for a program.
    var wantsPage = false
    /// The position of the page's language in `PageDesign.languages`.
    var pageLanguage: UInt8 = 0
    /// The app's pool in the configuration that chose the route. A reload does not change it.
    var pool: (any AppPool)?
    /// Whether the session ended during the request.
    var hasSessionEnded = false
    /// The reason to record when the answer has been sent. `nil` if the client gets the answer that it asked for.
    var endReason: Reason?
    /// Watches whether the client accepts the answer. `appOutput` watches whether the app accepts the request.
    var clientOutput = OutputWatch()
    var appOutput = OutputWatch()
    /// Whether the app has received the whole request.
    var isRequestTaken = false
    /// Whether content was passed on in either direction since the gateway last checked whether the session is in use.
    var hasPayload = false
    /// The number of bytes that the client has sent into a tunnel.
    var tunnelInput = 0
    /// The state of reading the lines of an event stream.
    var eventLines = EventStreamLines()
    var hasBegunAnswer = false
    var content = AnswerContent.plain
    /// Whether the content of the app's answer is an event stream.
    var isEventStream: Bool { self.content == .events }
    /// Whether the request is sent a second time, on another stream.
    var isRepeated = false
    /// The servers of the app that have failed for the request (`StreamWaiter.failedServers`).
    var failedServers: UInt64 = 0
    /// The time at which the head was sent to the app. `nil` if no head was sent or the request is not recorded.
    var sentAt: NIODeadline?
    var responseDeadline = NIODeadline.distantFuture
    /// The time until which a queued request waits for a stream, or a request waits for the first bytes of its body.
    var waitDeadline = NIODeadline.distantFuture
}
