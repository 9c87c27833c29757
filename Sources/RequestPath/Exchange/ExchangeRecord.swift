import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// What happened in one exchange, and what its judge found: written as it happens, complete when the exchange has ended.
/// The metrics and the access line are made from it alone.
///
/// It cannot be copied, because that would count references to everything in it.
struct ExchangeRecord: ~Copyable {
    /// The request's judge with its findings.
    var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
    var startedAt = NIODeadline.uptimeNanoseconds(0)
    /// From then to the end of the answer.
    private(set) var nanoseconds: Int64 = 0
    var sessionSource = SessionSource.none
    var status = 0
    /// Why the answer is not what the client asked for; nil: it is.
    private(set) var reason: Reason?
    /// Whether the answer is the app's.
    var isAppsAnswer = false
    /// Whether the request was forwarded, or would have been if the app could be reached.
    var isForwarded = false
    /// Whether the stream to the app is of a kept connection, which the app may have closed just before the request.
    var upstreamReused = false
    /// The server of the app that was chosen last, if it has several.
    var server: UpstreamServer?
    /// The bytes of the request's body, and of the answer's.
    var bytesIn = 0
    var bytesOut = 0
    /// What the access log and the traces say.
    var log = LoggedRequest()
    /// The recorded trace of which the request is a part, which the exchange keeps; nil: it is in none of the gateway's.
    var trace: Pinned<RequestTrace>?
    /// Where the time to the app's answer was counted, and how long after the request's beginning that was, in nanoseconds;
    /// a slot below 0: it was not.
    var answered: (slot: Int, nanoseconds: Int64) = (-1, 0)
    /// The trace that begins with the request and is not recorded: only the app learns it.
    var toldTrace: TraceID?

    /// Completes it at the end of the exchange.
    @inline(__always)
    mutating func end(_ reason: Reason?) {
        self.nanoseconds = (NIODeadline.now() - self.startedAt).nanoseconds
        self.reason = reason == .sessionUnknown ? self.absence ?? reason : reason
    }

    /// What was decided; nil: the connection ended before. A permitted request that the gateway answers itself, because its
    /// app failed, counts by its reason, so that the metrics name it.
    @inline(__always) var decision: RequestDecision? {
        guard let reason = self.reason, !(self.isForwarded && self.isAppsAnswer) else { return .allowed }
        guard reason == .clientGone || reason == .gatewayDraining else { return .denied(reason) }
        return self.isForwarded || self.endpointPath != nil ? .allowed : nil
    }

    /// Adds it to the metrics. Mutating, because so large a value would be copied to be read.
    ///
    /// - Returns: The slot in which the duration was counted.
    @inline(__always)
    mutating func count(in metrics: PathMetrics) -> Int {
        metrics.requestEnded(
            route: self.pinnedRoute?.use { $0.index },
            endpoint: self.endpointPath,
            status: self.status,
            reason: self.reason,
            decision: self.decision,
            nanoseconds: self.nanoseconds
        )
    }
}

/// What only the access log and the traces say of a request. It is not kept if neither is written.
struct LoggedRequest: ~Copyable {
    /// When it began, by the machine's time.
    var startedAt = UnixTime(milliseconds: 0)
    /// Its head's bytes; nil if that was refused: then it may hold arbitrary bytes, and nothing of it is logged.
    private(set) var bytes: ByteBuffer?
    private(set) var method = Slice.empty
    private(set) var path = Slice.empty
    private(set) var authority = Slice.empty
    private(set) var userAgent: Slice?
    private(set) var referer: Slice?
    /// The one `traceparent`; empty: there is none.
    private(set) var traceParent = Slice.empty
    /// The protocol in which it came.
    private(set) var version: StaticString = ""
    /// The names of the session's token and of the transfer token in the logs.
    var fingerprint: Fingerprint?
    var tokenFingerprint: Fingerprint?
    /// The time from the sending of the head to the app to the head of the answer.
    var upstreamTime: TimeAmount?

    mutating func keep(_ head: RequestHead, _ bytes: ByteBuffer, version: StaticString) {
        self.bytes = bytes
        self.method = head.method
        self.path = head.path
        self.authority = head.authority
        self.userAgent = head.line(.userAgent).map { head.fields[$0].value }
        self.referer = head.line(.referer).map { head.fields[$0].value }
        self.traceParent = TraceFields.parent(of: head) ?? .empty
        self.version = version
    }

    /// Gives the bytes back, which can be used again.
    mutating func takeBytes() -> ByteBuffer? { self.bytes.take() }
}

/// The judge's findings, under the names that the exchange uses.
extension ExchangeRecord {
    var requestID: RequestID {
        @inline(__always) get { self.judge.findings.requestID }
        @inline(__always) set { self.judge.findings.requestID = newValue }
    }
    @inline(__always) var clientAddress: IPAddress? { self.judge.findings.clientAddress }
    @inline(__always) var host: HostEntry? { self.judge.findings.host }
    @inline(__always) var route: RouteEntry? { self.judge.findings.route }
    @inline(__always) var pinnedHost: Pinned<HostEntry>? { self.judge.findings.pinnedHost }
    @inline(__always) var pinnedRoute: Pinned<RouteEntry>? { self.judge.findings.pinnedRoute }
    @inline(__always) var endpointPath: String? { self.judge.findings.endpoint }
    var session: CachedSession? {
        @inline(__always) get { self.judge.findings.session }
        @inline(__always) set { self.judge.findings.session = newValue }
    }
    /// The gateway's own field lines for the answer, whether the answer is the app's or the gateway's.
    var extraLines: [[UInt8]] {
        @inline(__always) get { self.judge.findings.answerLines }
        @inline(__always) set { self.judge.findings.answerLines = newValue }
    }
    @inline(__always) var crossOriginLines: [UInt8] { self.judge.findings.crossOriginLines }
    @inline(__always) var note: Reason? { self.judge.findings.note }
    @inline(__always) var absence: Reason? { self.judge.findings.absence }
    @inline(__always) var handoff: TransferTokenResult? { self.judge.findings.handoff }
    @inline(__always) var binding: JudgedBinding? { self.judge.findings.binding }
}
