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

/// One request as a part of a trace. Objects are used again, so that a request allocates none.
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
    /// Whether spans are written. Else only the app learns the trace, and that it is not recorded.
    var isSampled = false
    /// `tracestate` of the trace that the request continues.
    var state: [UInt8] = []
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
    var callTrace: CallTrace? { self.isSampled ? self.tracer.calls(of: self) : nil }

    /// Begins again for another request.
    func reset(_ id: TraceID, span: UInt64, appSpan: UInt64, parent: UInt64, isSampled: Bool) {
        self.id = id
        self.span = span
        self.appSpan = appSpan
        self.parent = parent
        self.isSampled = isSampled
        self.link = nil
        self.state.removeAll(keepingCapacity: true)
        self.attempt = nil
        self.attemptEnded = nil
        self.storeAsked = nil
        self.failedAttempts = 0
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
    func part(of id: TraceID, below parent: UInt64, isSampled: Bool) -> RequestTrace {
        let trace = self.spares.take() ?? RequestTrace(id, of: self)
        trace.reset(
            id,
            span: self.log.nextSpan(),
            appSpan: self.log.nextSpan(),
            parent: parent,
            isSampled: isSampled
        )
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

    func giveBack(_ trace: RequestTrace) { self.spares.keep(trace) }
}
