import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// The events of one exchange, recorded as they happen. Metrics and the access line are made from the record.
///
/// Not copyable, because copies would retain everything in the record.
struct ExchangeRecord: ~Copyable {
    /// The request's judge, with its findings.
    var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
    var startedAt = NIODeadline.uptimeNanoseconds(0)
    /// The time from `startedAt` to the end of the answer.
    private(set) var nanoseconds: Int64 = 0
    var sessionSource = SessionSource.none
    var status = 0
    /// Why the client did not get the expected answer. `nil` for an expected answer.
    private(set) var reason: Reason?
    /// True if the answer is the app's, false if it is the gateway's.
    var isAppsAnswer = false
    /// True if the request was permitted to be forwarded, even if the app could not be reached.
    var isForwarded = false
    /// True if the connection to the app had carried other requests. The app may have closed it just before this one.
    var upstreamReused = false
    /// The server that was chosen last. `nil` unless the app has several servers.
    var server: UpstreamServer?
    /// The number of bytes of the request's body. `bytesOut` counts the bytes of the answer's content.
    var bytesIn = 0
    var bytesOut = 0
    /// The values for the access log and the traces.
    var log = LoggedRequest()
    /// The request's recorded trace, owned by the exchange. `nil` if the request is not traced.
    var trace: Pinned<RequestTrace>?
    /// The histogram slot for the time until the app's answer, and this time in nanoseconds. No slot is -1.
    var answered: (slot: Int, nanoseconds: Int64) = (-1, 0)
    /// The id of a trace that begins with this request but is not recorded. Only the app receives the id.
    var toldTrace: TraceID?

    /// Completes the record at the end of the exchange.
    @inline(__always)
    mutating func end(_ reason: Reason?) {
        self.nanoseconds = (NIODeadline.now() - self.startedAt).nanoseconds
        self.reason = reason == .sessionUnknown ? self.absence ?? reason : reason
    }

    /// The decision. `nil` if the connection ended first. A permitted request that the app fails to answer is reported
    /// as denied, so that the metrics contain the reason.
    @inline(__always) var decision: RequestDecision? {
        guard let reason = self.reason, !(self.isForwarded && self.isAppsAnswer) else { return .allowed }
        guard reason == .clientGone || reason == .gatewayDraining else { return .denied(reason) }
        return self.isForwarded || self.endpointPath != nil ? .allowed : nil
    }

    /// Adds the record to the metrics. Mutating, because a nonmutating call would copy the large record.
    ///
    /// - Returns: The histogram slot of the request's duration.
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

/// The values that only the access log and the traces use. Empty if neither is written.
struct LoggedRequest: ~Copyable {
    /// When the request began, by the machine's clock.
    var startedAt = UnixTime(milliseconds: 0)
    /// The bytes of the head. `nil` without an access log, and for a refused head, because its bytes could be anything.
    private(set) var bytes: ByteBuffer?
    private(set) var method = Slice.empty
    private(set) var path = Slice.empty
    private(set) var authority = Slice.empty
    private(set) var userAgent: Slice?
    private(set) var referer: Slice?
    /// The value of `traceparent`. Empty unless the request has exactly one.
    private(set) var traceParent = Slice.empty
    /// The protocol of the request.
    private(set) var version: StaticString = ""
    /// The fingerprint of the session's token. `tokenFingerprint` belongs to the session-transfer token.
    var fingerprint: Fingerprint?
    var tokenFingerprint: Fingerprint?
    /// The time from sending the head to the app to receiving the head of the answer.
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

    /// Removes and returns the head's bytes, so that their buffer can be reused.
    mutating func takeBytes() -> ByteBuffer? { self.bytes.take() }
}

/// Short names for the judge's findings.
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
    /// The gateway's own field lines for any answer.
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
