import NIOCore
import Transport
import Vocabulary

/// What the exchange has to know of the content of an app's answer.
enum AnswerContent {
    case plain, events
    /// References in it become public (`MultistatusBody`).
    case multistatus
}

/// How far the current exchange has come, and its deadlines.
struct ExchangeFacts: ~Copyable {
    var isOpen = false
    var lastProgress = NIODeadline.uptimeNanoseconds(0)
    var method = KnownMethod.other
    /// Whether the answer has no content, because only its head is asked for.
    var wantsHeadOnly = false
    /// Whether the request has a body, which may turn out to be empty.
    var hasBody = false
    /// Whether the body has a declared length, which is not 0.
    var hasSizedBody = false
    /// Whether all of the body has come.
    var isRequestWhole = true
    var isWebSocket = false
    /// Whether a refusal is a page for a person instead of a document for a program.
    var wantsPage = false
    /// The position of that page's language in `PageDesign.languages`.
    var pageLanguage: UInt8 = 0
    /// The app's pool in the configuration that chose the route, which a reload does not change.
    var pool: (any AppPool)?
    /// Whether the session ended during the request.
    var hasSessionEnded = false
    /// Why the answer that ends is not what the client asked for; nil: it is complete.
    var endReason: Reason?
    /// Whether the client takes the answer, and the app the request.
    var clientOutput = OutputWatch()
    var appOutput = OutputWatch()
    /// Whether the app has the whole request.
    var isRequestTaken = false
    /// Whether content was passed on, in either direction, since a use of the session was last looked for.
    var hasPayload = false
    /// The bytes that the client has sent into a tunnel.
    var tunnelInput = 0
    /// The lines of an event stream.
    var eventLines = EventStreamLines()
    var hasBegunAnswer = false
    var content = AnswerContent.plain
    /// True if the content of the app's answer is an event stream.
    var isEventStream: Bool { self.content == .events }
    /// Whether the request has been sent on one stream and is to be sent on another.
    var isRepeated = false
    /// The servers of the app that have failed for it (`StreamWaiter.failedServers`).
    var failedServers: UInt64 = 0
    /// When the head was sent to the app. Only if something is written about the request.
    var sentAt: NIODeadline?
    var responseDeadline = NIODeadline.distantFuture
    /// Until when a queued request waits for a stream, or another one for the first bytes of its body.
    var waitDeadline = NIODeadline.distantFuture
}
