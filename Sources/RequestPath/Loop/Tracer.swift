import AddressIntelligence
import Glibc
import NIOCore
package import Observability
import Vocabulary

/// The settings for tracing requests, shared by all loops.
package struct TraceProfile: Sendable {
    package var sampler: TraceSampler
    /// True if `traceparent` is accepted even from a client that is not a trusted proxy.
    package var trustsClients: Bool
    /// Whether spans contain paths.
    package var namesPaths: Bool
    /// The `db.system.name` of the session store. `nil` if the store is in this process.
    package var store: String?

    package init(sampler: TraceSampler, trustsClients: Bool = false, namesPaths: Bool = true, store: String? = nil) {
        self.sampler = sampler
        self.trustsClients = trustsClients
        self.namesPaths = namesPaths
        self.store = store
    }
}

/// The spans of one request in a recorded trace. Objects are reused.
final class RequestTrace: TracedRequest {
    private unowned let tracer: Tracer
    var id: TraceID
    /// The gateway's own span of the request.
    var span: UInt64 = 0
    /// The span of the last attempt to reach the app. It is the parent of the app's own spans.
    var appSpan: UInt64 = 0
    /// The sender's span from `traceparent`. 0 if the trace begins at the gateway.
    var parent: UInt64 = 0
    /// The trace context that an untrusted client has sent.
    var link: TraceContext?
    /// The `tracestate` of the trace that the request continues.
    var state: [UInt8] = []
    /// The attributes about the connection and the head. Most requests of a connection share those before
    /// `connectionEnd`.
    private let words = SpanBuffer(capacity: 512)
    /// The ends of the client's address and of the attributes about the connection in `words`. 0 at first.
    private var clientEnd = 0
    private var connectionEnd = 0
    /// The ranges of the user agent and the path in `words`. Empty if there is no value.
    private var userAgent = 0..<0
    private var path = 0..<0
    private var version = SpanWords.Version.http11
    /// The last session named in a span, and its text. Most requests of a connection belong to one session.
    private var session = (name: Fingerprint(0), text: Fingerprint(0).characters)
    private var peer: IPAddress?
    private(set) var method = KnownMethod.other
    /// The start of the current attempt to reach the app. `nil` if there is no attempt.
    var attemptBegan: NIODeadline?
    /// The server that was tried last. Kept between requests, because the next request usually tries the same server,
    /// and releasing the reference is slow.
    var server: UpstreamServer?
    /// The time at which the attempt's answer was complete.
    var attemptEnded: NIODeadline?
    /// The pending store operation of the request, and the time at which it began. `nil` if none is pending.
    var storeAsked: (at: NIODeadline, operation: StaticString)?
    var failedAttempts = 0

    init(_ id: TraceID, of tracer: Tracer) {
        self.id = id
        self.tracer = tracer
    }

    /// The trace for calls on behalf of the request. The spans of these calls are children of the request's span.
    var callTrace: CallTrace? { self.tracer.calls(of: self) }

    /// Prepares the object for another request.
    ///
    /// - Parameter parent: The sender's span. 0 if the trace begins at the gateway.
    func reset(_ id: TraceID, span: UInt64, appSpan: UInt64, parent: UInt64) {
        self.id = id
        self.span = span
        self.appSpan = appSpan
        self.parent = parent
        self.link = nil
        if !self.state.isEmpty { self.state.removeAll(keepingCapacity: true) }
        self.attemptBegan = nil
        self.attemptEnded = nil
        self.storeAsked = nil
        self.failedAttempts = 0
    }

    /// Writes the attributes of the request's head while its bytes are available.
    ///
    /// - Parameters:
    ///   - peer: The address of the peer as text.
    ///   - namesPath: Whether spans contain paths.
    @inline(__always)
    func describe(
        _ head: RequestHead,
        _ base: Bytes,
        of peer: [UInt8],
        isHTTP2: Bool,
        namesPath: Bool,
        _ words: SpanWords
    ) {
        self.method = head.knownMethod
        let userAgent = head.value(.userAgent, in: base) ?? UnsafeBufferPointer(start: nil, count: 0)
        let version: SpanWords.Version = isHTTP2 ? .http2 : head.minorVersion == 1 ? .http11 : .http10
        if self.connectionEnd == 0 || !self.isLast(userAgent, version) {
            self.describe(userAgent, of: peer, version: version, words)
        }
        self.words.truncate(to: self.connectionEnd)
        self.path = 0..<0
        if namesPath, !head.path.isEmpty {
            // The parser accepts only ASCII in a target.
            let length = self.words.attribute(words.path, ascii: head.path.bytes(in: base))
            let end = self.words.bytes.count
            self.path = (end &- length)..<end
        }
        if self.method == .other { self.noteMethod(head.method.bytes(in: base)) }
    }

    /// Writes the original name of a method that the conventions call `_OTHER`. Cut to 32 bytes.
    @inline(never)
    private func noteMethod(_ method: UnsafeBufferPointer<UInt8>) {
        let beginning = UnsafeBufferPointer(rebasing: method.prefix(32))
        self.words.attribute("http.request.method_original", UnsafeRawBufferPointer(beginning))
    }

    /// Returns whether the last request had this user agent and version. Also false if the span's text of the user
    /// agent differs, as for invalid UTF-8.
    @inline(__always)
    private func isLast(_ userAgent: UnsafeBufferPointer<UInt8>, _ version: SpanWords.Version) -> Bool {
        guard version == self.version, userAgent.count == self.userAgent.count else { return false }
        guard let start = userAgent.baseAddress, let own = self.words.bytes.baseAddress else { return true }
        return memcmp(own + self.userAgent.lowerBound, start, userAgent.count) == 0
    }

    @inline(never)
    private func describe(
        _ userAgent: UnsafeBufferPointer<UInt8>,
        of peer: [UInt8],
        version: SpanWords.Version,
        _ words: SpanWords
    ) {
        self.version = version
        self.words.removeAll()
        self.words.attribute(words.client, peer)
        self.clientEnd = self.words.bytes.count
        self.words.attribute(words.peer, peer)
        self.userAgent = 0..<0
        if !userAgent.isEmpty {
            let length = self.words.attribute(words.userAgent, UnsafeRawBufferPointer(userAgent))
            let end = self.words.bytes.count
            self.userAgent = (end &- length)..<end
        }
        self.words.add(words.version(of: version))
        self.connectionEnd = self.words.bytes.count
    }

    /// Prepares the object for a connection. Drops the attributes of an earlier connection with another peer.
    func join(_ peer: IPAddress) {
        if self.peer != peer { (self.peer, self.connectionEnd) = (peer, 0) }
    }

    /// Returns the text of a session's fingerprint for spans.
    @inline(__always)
    func text(of session: Fingerprint) -> (first: UInt64, last: UInt16) {
        if session.bits != self.session.name.bits { self.session = (session, session.characters) }
        return self.session.text
    }

    /// The path that was written. Empty if there is no path.
    @inline(__always)
    var pathBytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: self.words.bytes.bindMemory(to: UInt8.self)[self.path])
    }

    /// Returns the attributes that were written.
    ///
    /// - Parameter isPeers: True if the client's address is the peer's. If false, the client's address is left out.
    @inline(__always)
    func noted(isPeers: Bool) -> UnsafeRawBufferPointer {
        isPeers ? self.words.bytes : UnsafeRawBufferPointer(rebasing: self.words.bytes[self.clientEnd...])
    }
}

/// The keys and attributes that nearly all spans share. Tracers keep a reference, because using a global is slower.
final class SpanWords: Sendable {
    enum Version {
        case http10, http11, http2
    }

    let path = SpanKey("url.path")
    let url = SpanKey("url.full")
    let userAgent = SpanKey("user_agent.original")
    let client = SpanKey("client.address")
    let peer = SpanKey("network.peer.address")
    let allowed = SpanRun { $0.attribute("sallyport.decision", "allowed" as StaticString) }
    let denied = SpanRun { $0.attribute("sallyport.decision", "denied" as StaticString) }
    /// The values of `sallyport.cache`.
    let cached = SpanRun { $0.attribute("sallyport.cache", SessionSource.l1.rawValue) }
    let stored = SpanRun { $0.attribute("sallyport.cache", SessionSource.store.rawValue) }
    private let http2 = SpanWords.version("2")
    private let http11 = SpanWords.version("1.1")
    private let http10 = SpanWords.version("1.0")
    private let get = SpanWords.method("GET")
    private let head = SpanWords.method("HEAD")
    private let post = SpanWords.method("POST")
    private let put = SpanWords.method("PUT")
    private let patch = SpanWords.method("PATCH")
    private let delete = SpanWords.method("DELETE")
    private let options = SpanWords.method("OPTIONS")
    private let other = SpanWords.method("_OTHER")

    /// The only instance in the process.
    static let all = SpanWords()

    private init() {}

    private static func version(_ version: StaticString) -> SpanRun {
        SpanRun { span in
            span.attribute("network.protocol.name", "http" as StaticString)
            span.attribute("network.protocol.version", version)
        }
    }

    private static func method(_ method: StaticString) -> SpanRun {
        SpanRun { $0.attribute("http.request.method", method) }
    }

    /// Returns the attribute `http.request.method` and the beginning of a span's name. Unknown methods share `_OTHER`
    /// and `HTTP`, because a client can invent any number of methods.
    @inline(__always)
    func method(_ method: KnownMethod) -> (name: StaticString, run: SpanRun) {
        switch method {
        case .get: ("GET", self.get)
        case .head: ("HEAD", self.head)
        case .post: ("POST", self.post)
        case .put: ("PUT", self.put)
        case .patch: ("PATCH", self.patch)
        case .delete: ("DELETE", self.delete)
        case .options: ("OPTIONS", self.options)
        case .other: ("HTTP", self.other)
        }
    }

    func version(of version: Version) -> SpanRun {
        switch version {
        case .http10: self.http10
        case .http11: self.http11
        case .http2: self.http2
        }
    }
}

/// The traces of one loop. Confined to the loop.
package final class Tracer {
    package let profile: TraceProfile
    let log: TraceLog
    let words = SpanWords.all
    let patterns = SpanPatterns()
    private let queue: SpanQueue
    private var spares = Spares<RequestTrace>(limit: 256)

    package init(_ profile: TraceProfile, queue: SpanQueue) {
        self.profile = profile
        self.log = TraceLog(queue: queue)
        self.queue = queue
    }

    /// Begins the trace of a request.
    ///
    /// - Parameters:
    ///   - parent: The sender's span. 0 if the trace begins at the gateway.
    ///   - peer: The peer of the connection.
    ///   - kept: The object of the connection's last recorded request, or `nil`. Set to the object of this request.
    @inline(__always)
    func begin(
        _ id: TraceID,
        below parent: UInt64,
        of peer: IPAddress,
        with kept: inout RequestTrace?
    ) -> Pinned<RequestTrace> {
        let trace: Pinned<RequestTrace>
        if let own = kept.map({ Pinned($0) }) { trace = own } else { trace = self.make(id, of: peer, &kept) }
        let span = self.log.nextSpan()
        // The complement of `span` is a second unique id.
        trace.use { $0.reset(id, span: span, appSpan: ~span, parent: parent) }
        return trace
    }

    @inline(never)
    private func make(_ id: TraceID, of peer: IPAddress, _ kept: inout RequestTrace?) -> Pinned<RequestTrace> {
        let trace = self.spares.take() ?? RequestTrace(id, of: self)
        trace.join(peer)
        kept = trace
        return Pinned(trace)
    }

    /// Returns the trace for calls on behalf of a request.
    fileprivate func calls(of trace: RequestTrace) -> CallTrace {
        CallTrace(
            of: trace.id,
            below: trace.span,
            namesPaths: self.profile.namesPaths,
            store: self.profile.store,
            to: self.queue
        )
    }

    func giveBack(_ trace: RequestTrace) {
        // The object may be kept for a long time, and a reload may remove the server in the meantime.
        trace.server = nil
        self.spares.keep(trace)
    }
}
