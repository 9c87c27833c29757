import AddressIntelligence
import Handoff
import NIOCore
import Observability
import Sessions
import Settings
import Transport
import Vocabulary

/// The facts of the current exchange, for its end, its log line and its deadlines.
struct ExchangeFacts {
    /// The request's judge with its findings.
    var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
    var isOpen = false
    var startedAt = NIODeadline.uptimeNanoseconds(0)
    /// The machine's time then. Only if an access log is written.
    var wallStartedAt = UnixTime(milliseconds: 0)
    var lastProgress = NIODeadline.uptimeNanoseconds(0)
    var method = KnownMethod.other
    /// Whether the request has a body, which may turn out to be empty.
    var hasBody = false
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
    var sessionSource = SessionSource.none
    /// The names of the session's token and of the transfer token in the logs. Only if an access log is written.
    var fingerprint: Fingerprint?
    var tokenFingerprint: Fingerprint?
    var status = 0
    var reason: Reason?
    /// Why the answer that ends is not what the client asked for; nil: it is complete.
    var endReason: Reason?
    /// Whether the client takes the answer, and the app the request.
    var clientOutput = OutputWatch()
    var appOutput = OutputWatch()
    /// Whether the app has the whole request.
    var isRequestTaken = false
    /// Whether content was passed on, in either direction, since a use of the session was last looked for.
    var hasPayload = false
    /// The lines of an event stream.
    var eventLines = EventStreamLines()
    var hasBegunAnswer = false
    /// Whether the answer is the app's.
    var isAppsAnswer = false
    /// Whether the request was forwarded, or would have been if the app could be reached.
    var isForwarded = false
    var isEventStream = false
    /// Whether the app's connection was taken from the pool. Then the app may have closed it just before the request.
    var upstreamReused = false
    /// Whether the request has been sent on one connection and is to be sent on another.
    var isRepeated = false
    /// When the head was sent to the app, and the time from then to the head of the answer. Only if an access log is
    /// written.
    var sentAt: NIODeadline?
    var upstreamTime: TimeAmount?
    var responseDeadline = NIODeadline.distantFuture
    /// Until when a queued request waits for a connection.
    var queueDeadline = NIODeadline.distantFuture
    /// The bytes of the request's body, and of the answer's.
    var bytesIn = 0
    var bytesOut = 0
    /// The head's bytes; only if an access log is written.
    var logBytes: ByteBuffer?
    var logMethod = Slice.empty
    var logPath = Slice.empty
    var logAuthority = Slice.empty
    var logUserAgent: Slice?
    var logReferer: Slice?

    mutating func keep(_ head: RequestHead, _ buffer: ByteBuffer) {
        self.logBytes = buffer
        self.logMethod = head.method
        self.logPath = head.path
        self.logAuthority = head.authority
        self.logUserAgent = head.line(.userAgent).map { head.fields[$0].value }
        self.logReferer = head.line(.referer).map { head.fields[$0].value }
    }
}
