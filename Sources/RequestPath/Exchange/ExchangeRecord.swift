import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import Vocabulary

/// The events of one exchange and the findings of its judge. Written as they happen, complete when the exchange has
/// ended. The metrics and the access line are made from the record alone.
///
/// Not copyable, because a copy would count references to everything in the record.
struct ExchangeRecord: ~Copyable {
    /// The request's judge with its findings.
    var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
    var startedAt = NIODeadline.uptimeNanoseconds(0)
    /// The time from `startedAt` to the end of the answer.
    private(set) var nanoseconds: Int64 = 0
    var sessionSource = SessionSource.none
    var status = 0
    /// The reason for an answer that the client did not ask for, such as a refusal. `nil` for any other answer.
    private(set) var reason: Reason?
    /// True if the app gave the answer, false if the gateway did.
    var isAppsAnswer = false
    /// Whether the request was forwarded, or would have been forwarded if the app had been reachable.
    var isForwarded = false
    /// True if the stream's connection has carried other requests. The app may have closed it just before this request.
    var upstreamReused = false
    /// The server that was chosen last, if the app has several servers.
    var server: UpstreamServer?
    /// The number of bytes of the request's body. `bytesOut` is the number of bytes of the answer's content.
    var bytesIn = 0
    var bytesOut = 0
    /// The values for the access log and the traces.
    var log = LoggedRequest()
    /// The request's part of a recorded trace, kept by the exchange. `nil` if the gateway does not record the request.
    var trace: Pinned<RequestTrace>?
    /// The slot that counted the time from the request's beginning to the app's answer, and that time in nanoseconds. A
    /// slot below 0 means that the time was not counted.
    var answered: (slot: Int, nanoseconds: Int64) = (-1, 0)
    /// The trace that begins with this request but is not recorded. Only the app learns its id. `nil` otherwise.
    var toldTrace: TraceID?

    /// Completes the record at the end of the exchange.
    @inline(__always)
    mutating func end(_ reason: Reason?) {
        self.nanoseconds = (NIODeadline.now() - self.startedAt).nanoseconds
        self.reason = reason == .sessionUnknown ? self.absence ?? reason : reason
    }

    /// The decision. `nil` if the connection ended before the decision. If the gateway answers a permitted request
    /// itself because the app failed, the request counts as denied, so that the metrics name the reason of the failure.
    @inline(__always) var decision: RequestDecision? {
        guard let reason = self.reason, !(self.isForwarded && self.isAppsAnswer) else { return .allowed }
        guard reason == .clientGone || reason == .gatewayDraining else { return .denied(reason) }
        return self.isForwarded || self.endpointPath != nil ? .allowed : nil
    }

    /// Adds the record to the metrics. Mutating, because reading so large a value would copy it.
    ///
    /// - Returns: The slot that counted the duration.
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

/// The values of a request that only the access log and the traces contain. Not kept if neither is written.
struct LoggedRequest: ~Copyable {
    /// The start of the request by the machine's time.
    var startedAt = UnixTime(milliseconds: 0)
    /// The bytes of the head. `nil` if the head was refused: such a head may hold arbitrary bytes and is not logged.
    private(set) var bytes: ByteBuffer?
    private(set) var method = Slice.empty
    private(set) var path = Slice.empty
    private(set) var authority = Slice.empty
    private(set) var userAgent: Slice?
    private(set) var referer: Slice?
    /// The value of `traceparent`. Empty if the request has no such field or several.
    private(set) var traceParent = Slice.empty
    /// The protocol of the request.
    private(set) var version: StaticString = ""
    /// The fingerprint of the session's token. `tokenFingerprint` is the fingerprint of the session-transfer token.
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

    /// Removes and returns the bytes of the head, so that their buffer can be reused.
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
