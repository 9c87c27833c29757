import AddressIntelligence
import Handoff
import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

/// What is known of the exchange under way, for its end, its log line and its deadlines.
struct ExchangeFacts {
    /// The request's judge, with what it found.
    var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
    var isOpen = false
    var startedAt = NIODeadline.uptimeNanoseconds(0)
    var lastProgress = NIODeadline.uptimeNanoseconds(0)
    var method = KnownMethod.other
    var minorVersion = 1
    var keepsAlive = false
    var expectsContinue = false
    var isWebSocket = false
    /// A person looks at the answer: a refusal is a page.
    var wantsPage = false
    var requestFraming = BodyFraming.none
    /// The app's pool under the configuration that chose the route, whatever a reload does meanwhile.
    var pool: (any AppPool)?
    /// The session ended while the request was under way.
    var hasSessionEnded = false
    var sessionSource = SessionSource.none
    var status = 0
    var reason: Reason?
    /// Bytes that waited for the client when deadlines were looked at last.
    var waitingBytes = 0
    var answerFraming = OutgoingFraming.asIs
    var hasBegunAnswer = false
    /// It was passed on, or would have been if the app could be reached.
    var isForwarded = false
    var isEventStream = false
    /// The app's connection has served before, or could have.
    var upstreamReused = false
    /// When the head was sent to the app, and how long it took to the answer's; only while an access log is written.
    var sentAt: NIODeadline?
    var upstreamTime: TimeAmount?
    var responseDeadline = NIODeadline.distantFuture
    var bytesOut = 0
    /// The head's bytes, only while an access log is written.
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
