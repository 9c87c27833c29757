import NIOCore
package import Observability
import Vocabulary

/// How requests are traced; the same for all loops.
package struct TraceProfile: Sendable {
    package var sampler: TraceSampler
    /// Whether the parent that a client names is the parent also where the client is no trusted proxy.
    package var trustsClients: Bool
    /// Whether spans name paths.
    package var namesPaths: Bool
    /// The `db.system.name` of the session store; nil: it is in this process.
    package var store: String?

    package init(sampler: TraceSampler, trustsClients: Bool = false, namesPaths: Bool = true, store: String? = nil) {
        self.sampler = sampler
        self.trustsClients = trustsClients
        self.namesPaths = namesPaths
        self.store = store
    }
}

/// One request as a part of a trace that is recorded. Objects are used again, so that a request allocates none.
final class RequestTrace: TracedRequest {
    private unowned let tracer: Tracer
    var id: TraceID
    /// The gateway's own span of the request.
    var span: UInt64 = 0
    /// The span at the app, of the last attempt: the parent of what the app does.
    var appSpan: UInt64 = 0
    /// The span that the sender has named; 0: the trace begins here.
    var parent: UInt64 = 0
    /// What an untrusted client has named.
    var link: TraceContext?
    /// `tracestate` of the trace that the request continues.
    var state: [UInt8] = []
    /// What the request's span says of its head.
    let words = SpanBuffer(capacity: 1024)
    /// Where the path is in `words`; empty: spans name none.
    var path = 0..<0
    var method = KnownMethod.other
    var version: StaticString = ""
    /// The current attempt to reach the app: when it began, and the server that is tried; nil: none is.
    var attempt: (began: NIODeadline, server: UpstreamServer)?
    /// When its answer was complete.
    var attemptEnded: NIODeadline?
    /// When the store was asked what the request waits for, and the name of the operation.
    var storeAsked: (at: NIODeadline, operation: StaticString)?
    /// The attempts that have failed.
    var failedAttempts = 0

    init(_ id: TraceID, of tracer: Tracer) {
        self.id = id
        self.tracer = tracer
    }

    /// What is called for the request is written below its span.
    var callTrace: CallTrace? { self.tracer.calls(of: self) }

    /// Begins again for another request.
    ///
    /// - Parameter parent: The span of the sender; 0: the trace begins here.
    func reset(_ id: TraceID, span: UInt64, appSpan: UInt64, parent: UInt64) {
        self.id = id
        self.span = span
        self.appSpan = appSpan
        self.parent = parent
        self.link = nil
        if !self.state.isEmpty { self.state.removeAll(keepingCapacity: true) }
        self.attempt = nil
        self.attemptEnded = nil
        self.storeAsked = nil
        self.failedAttempts = 0
    }

    /// Notes what the request asks for, while its bytes are there.
    func describe(_ head: RequestHead, _ base: Bytes, version: StaticString, namesPath: Bool) {
        self.method = head.knownMethod
        self.version = version
        self.words.removeAll()
        self.path = 0..<0
        if namesPath, !head.path.isEmpty {
            let length = self.words.attribute(SpanText.path, UnsafeRawBufferPointer(head.path.bytes(in: base)))
            let end = self.words.bytes.count
            self.path = (end &- length)..<end
        }
        if let userAgent = head.value(.userAgent, in: base), !userAgent.isEmpty {
            self.words.attribute(SpanText.userAgent, UnsafeRawBufferPointer(userAgent))
        }
    }

    /// The path that was noted.
    var pathBytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: self.words.bytes.bindMemory(to: UInt8.self)[self.path])
    }
}

/// What the spans of nearly all requests have alike.
enum SpanText {
    static let path = SpanKey("url.path")
    static let url = SpanKey("url.full")
    static let userAgent = SpanKey("user_agent.original")
    static let client = SpanKey("client.address")
    static let peer = SpanKey("network.peer.address")
    static let status = SpanKey("http.response.status_code")
    static let session = SpanKey("sallyport.session")

    /// `http.request.method`, by the place of a method in its type.
    static let methods = (0...KnownMethod.other.rawValue).map { place in
        let method = KnownMethod(rawValue: place) ?? .other
        return SpanRun { span in
            // The name of one that is none of HTTP's own, of which a client can invent any number.
            span.attribute("http.request.method", method == .other ? "_OTHER" : Self.name(of: method))
        }
    }

    static let http2 = Self.version("2")
    static let http11 = Self.version("1.1")
    static let http10 = Self.version("1.0")
    static let allowed = SpanRun { $0.attribute("sallyport.decision", "allowed" as StaticString) }
    static let denied = SpanRun { $0.attribute("sallyport.decision", "denied" as StaticString) }
    /// `sallyport.cache`, by its value.
    static let cached = SpanRun { $0.attribute("sallyport.cache", SessionSource.l1.rawValue) }
    static let stored = SpanRun { $0.attribute("sallyport.cache", SessionSource.store.rawValue) }

    private static func version(_ version: StaticString) -> SpanRun {
        SpanRun { span in
            span.attribute("network.protocol.name", "http" as StaticString)
            span.attribute("network.protocol.version", version)
        }
    }

    /// The beginning of the name of a span.
    static func name(of method: KnownMethod) -> StaticString {
        switch method {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .other: "HTTP"
        }
    }

    /// The version, by the stream's word for it.
    static func version(of version: StaticString) -> SpanRun {
        // HTTP/1.1, HTTP/1.0, HTTP/2
        guard version.utf8CodeUnitCount == 8 else { return self.http2 }
        return version.utf8Start[7] == 0x31 ? self.http11 : self.http10
    }
}

/// The traces of one loop. Confined to it.
package final class Tracer {
    package let profile: TraceProfile
    let log: TraceLog
    private let queue: SpanQueue
    private var spares = Spares<RequestTrace>(limit: 256)

    package init(_ profile: TraceProfile, queue: SpanQueue) {
        self.profile = profile
        self.log = TraceLog(queue: queue)
        self.queue = queue
    }

    /// A part of this trace for a request.
    ///
    /// - Parameter parent: The span of the sender; 0: the trace begins here.
    func part(of id: TraceID, below parent: UInt64) -> RequestTrace {
        let trace = self.spares.take() ?? RequestTrace(id, of: self)
        trace.reset(id, span: self.log.nextSpan(), appSpan: self.log.nextSpan(), parent: parent)
        return trace
    }

    /// Writes what is called for a request.
    fileprivate func calls(of trace: RequestTrace) -> CallTrace {
        CallTrace(
            of: trace.id,
            below: trace.span,
            namesPaths: self.profile.namesPaths,
            store: self.profile.store,
            to: self.queue
        )
    }

    func giveBack(_ trace: consuming RequestTrace) { self.spares.keep(trace) }
}
