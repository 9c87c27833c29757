import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// The spans of a request: the gateway's own, and one for each question to the store and each attempt to reach the app. They
/// are written when what they are of has ended.
extension Exchange {
    /// Decides whether the request is traced, once. The parent that a client names is its parent only where the client is
    /// trusted: else anybody could have all requests recorded, or write into the traces of others.
    @inline(never)
    func beginTrace(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) {
        guard let tracer = self.loop.tracer else { return }
        defer { self.loop.sessions?.resolver.asker = self.record.trace }
        let sampler = tracer.profile.sampler
        buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            let context = TraceFields.context(of: head, base)
            let isTrusted =
                tracer.profile.trustsClients || self.service == .checks || configuration.clientAddress.trusts(self.peer)
            if let context, isTrusted {
                // Else its fields reach the app as they are.
                guard sampler.samples(below: context) else { return }
                let trace = tracer.part(of: context.trace, below: context.span, isSampled: true)
                TraceFields.readState(of: head, base, into: &trace.state)
                self.record.trace = trace
            } else if sampler.beginsTraces, let id = self.ownTrace(isTrusted ? head.value(.requestID, in: base) : nil) {
                let trace = tracer.part(of: id, below: 0, isSampled: sampler.samples(id))
                trace.link = context
                self.record.trace = trace
            }
        }
    }

    /// The id of a trace that begins with the request: the request's id, so that there is one to look for.
    ///
    /// - Parameter given: The id that a trusted proxy gives the request.
    private func ownTrace(_ given: UnsafeBufferPointer<UInt8>?) -> TraceID? {
        if let id = given.flatMap({ TraceID($0) }) { return id }
        // All bits of the lower half must look random, as the sampler compares them.
        self.record.requestID.sequence = TraceLog.mixed(self.record.requestID.sequence &+ self.record.requestID.seed)
        return TraceID(high: self.record.requestID.seed, low: self.record.requestID.sequence)
    }

    /// The trace as the app learns it; nil: as the client names it.
    @inline(never)
    var forwardedTrace: ForwardedTrace? {
        guard let trace = self.record.trace, self.record.route?.hidesTrace != true else { return nil }
        return ForwardedTrace(
            context: TraceContext(
                trace: trace.id,
                span: trace.appSpan,
                flags: trace.isSampled ? TraceContext.sampledFlag : 0
            ),
            keepsState: trace.parent != 0
        )
    }

    // MARK: Spans within the request

    /// The request asks the store, and waits.
    @inline(never)
    func storeIsAsked(_ operation: StaticString) { self.record.trace?.storeAsked = (.now(), operation) }

    /// The store has answered what the request waited for.
    ///
    /// - Parameter failure: Why there is no answer; nil: there is one.
    @inline(never)
    func storeAnswered(_ failure: Reason?) {
        guard let trace = self.record.trace, let (asked, operation) = trace.storeAsked else { return }
        trace.storeAsked = nil
        guard trace.isSampled, let tracer = self.loop.tracer, let system = tracer.profile.store else { return }
        let head = SpanClock().head(
            of: trace,
            tracer.log.nextSpan(),
            below: trace.span,
            .client,
            from: asked,
            to: .now()
        )
        tracer.log.write { span in
            span.begin(head)
            operation.withUTF8Buffer { span.name(UnsafeRawBufferPointer($0)) }
            span.attribute("db.system.name", system)
            span.attribute("db.operation.name", operation)
            if let failure {
                span.attribute("error.type", failure.rawValue)
                span.failed()
            }
            span.end()
        }
    }

    /// The request is for this server: a connection to it is begun, or one is there.
    @inline(never)
    func attemptBegins(at server: UpstreamServer) {
        if let trace = self.record.trace, trace.attempt?.server !== server { trace.attempt = (.now(), server) }
    }

    /// The app's answer is complete.
    @inline(never)
    func attemptEnded() { self.record.trace?.attemptEnded = .now() }

    /// The attempt has failed, and another one follows.
    ///
    /// - Parameters:
    ///   - reason: nil: the app has answered, and another server may do better.
    ///   - status: That of the answer; 0: there was none.
    @inline(never)
    func attemptFailed(_ reason: Reason?, status: Int = 0) {
        guard let trace = self.record.trace, trace.attempt != nil else { return }
        if trace.isSampled, let tracer = self.loop.tracer {
            // The app of the last attempt knows the span that the head names.
            self.writeAttempt(trace, tracer, SpanClock(), span: tracer.log.nextSpan(), end: .now(), status, reason)
        }
        trace.failedAttempts += 1
        trace.attempt = nil
    }

    /// Writes the span of an attempt to reach the app.
    ///
    /// - Parameters:
    ///   - status: That of the app's answer; 0: there is none.
    ///   - failure: Why there is no answer, or no whole one; nil: there is one.
    private func writeAttempt(
        _ trace: RequestTrace,
        _ tracer: Tracer,
        _ clock: SpanClock,
        span id: UInt64,
        end: NIODeadline,
        _ status: Int,
        _ failure: Reason?
    ) {
        guard let (began, server) = trace.attempt, let route = self.record.route, let upstream = route.upstreamIndex,
            self.configuration.targets.indices.contains(upstream)
        else { return }
        let app = self.configuration.targets[upstream]
        let head = clock.head(of: trace, id, below: trace.span, .client, from: began, to: end)
        self.record.log.withMethod { method in
            tracer.log.write { span in
                span.begin(head)
                span.name(method ?? SpanText.otherMethod)
                span.attribute("http.request.method", method ?? SpanText.other)
                if let path = server.settings.socketPath {
                    span.attribute("server.address", path)
                } else {
                    span.attribute("server.address", server.settings.host)
                    span.attribute("server.port", server.settings.port)
                }
                if tracer.profile.namesPaths {
                    self.record.log.withPath { path in self.writeURL(of: server, path, route, span) }
                }
                span.attribute("sallyport.upstream", app.settings.name)
                if trace.failedAttempts > 0 { span.attribute("http.request.resend_count", trace.failedAttempts) }
                if status > 0 { span.attribute("http.response.status_code", status) }
                if let failure {
                    span.attribute("error.type", failure.rawValue)
                } else if status >= 400 {
                    span.attribute("error.type", "\(status)")
                }
                if failure != nil || status >= 400 { span.failed() }
                span.end()
            }
        }
    }

    /// The URL that the app is asked for, without the query.
    private func writeURL(
        of server: UpstreamServer,
        _ path: UnsafeRawBufferPointer,
        _ route: RouteEntry,
        _ span: SpanBuffer
    ) {
        let growth = route.prefixes?.growth ?? 0
        let room = server.origin.count + path.count + growth
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room + 1) { memory in
            guard let base = memory.baseAddress else { return }
            var writer = ByteWriter(base)
            writer.write(server.origin)
            let path = path.bindMemory(to: UInt8.self)
            if let prefixes = route.prefixes { prefixes.writeOwn(path, &writer) } else { writer.write(path) }
            span.attribute("url.full", UnsafeRawBufferPointer(start: base, count: writer.count))
        }
    }

    // MARK: The request's span

    /// Writes what is left to be written of a request that has ended.
    @inline(never)
    func end(_ trace: RequestTrace) {
        guard let tracer = self.loop.tracer else { return }
        defer { tracer.giveBack(trace) }
        guard trace.isSampled else { return }
        let clock = SpanClock()
        let end = self.record.startedAt + .nanoseconds(self.record.nanoseconds)
        let reason = self.record.reason
        if trace.attempt != nil {
            let failure = trace.attemptEnded == nil ? reason : nil
            let status = self.record.isAppsAnswer ? self.record.status : 0
            let ended = trace.attemptEnded ?? end
            self.writeAttempt(trace, tracer, clock, span: trace.appSpan, end: ended, status, failure)
        }
        self.metrics.traced(
            Exemplar(trace: trace.id, nanoseconds: self.record.nanoseconds, at: clock.now),
            route: self.record.route?.index,
            endpoint: self.record.endpointPath,
            upstream: self.answered
        )
        var head = clock.head(
            of: trace,
            trace.span,
            below: trace.parent,
            .server,
            from: self.record.startedAt,
            to: end
        )
        head.isParentRemote = true
        let status = self.facts.hasBegunAnswer ? self.record.status : 0
        let client = self.clientText
        tracer.log.write { span in
            span.begin(head)
            trace.state.withUnsafeBytes { span.state($0) }
            self.describeRequest(span, tracer.profile)
            span.attribute("client.address", client)
            span.attribute("network.peer.address", self.peerText)
            if status > 0 { span.attribute("http.response.status_code", status) }
            self.describeDecision(span, trace)
            if status >= 500 {
                span.attribute("error.type", "\(status)")
            } else if let reason {
                span.attribute("error.type", reason.rawValue)
            }
            if let link = trace.link { span.link(to: link) }
            if status >= 500 || reason.map({ $0.isFailure && $0 != .clientGone }) == true { span.failed() }
            span.end()
        }
    }

    /// The index of the app that has answered, and how long after the request's beginning it began to.
    private var answered: (index: Int, nanoseconds: Int64)? {
        guard self.record.isAppsAnswer, let index = self.record.route?.upstreamIndex,
            let sentAt = self.facts.sentAt, let time = self.record.log.upstreamTime
        else { return nil }
        return (index, (sentAt - self.record.startedAt).nanoseconds + time.nanoseconds)
    }

    /// The name of the span, and what the request asks for.
    private func describeRequest(_ span: SpanBuffer, _ profile: TraceProfile) {
        var route = self.record.route?.settings.path ?? self.record.endpointPath ?? ""
        self.record.log.withMethod { method in
            route.withUTF8 { span.name(method ?? SpanText.otherMethod, UnsafeRawBufferPointer($0)) }
            span.attribute("http.request.method", method ?? SpanText.other)
        }
        if !route.isEmpty { span.attribute("http.route", route) }
        if profile.namesPaths { self.record.log.withPath { span.attribute("url.path", $0) } }
        if let url = self.record.host?.publicURL {
            span.attribute("url.scheme", url.scheme)
            span.attribute("server.address", url.host)
            span.attribute("server.port", url.port ?? (url.isHTTPS ? 443 : 80))
        }
        span.attribute("network.protocol.name", "http" as StaticString)
        let version = self.record.log.version
        version.withUTF8Buffer { bytes in
            guard let slash = bytes.firstIndex(of: 0x2F) else { return }
            span.attribute(
                "network.protocol.version",
                UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[(slash + 1)...]))
            )
        }
        self.record.log.withUserAgent { span.attribute("user_agent.original", $0) }
    }

    /// What the gateway has decided.
    private func describeDecision(_ span: SpanBuffer, _ trace: RequestTrace) {
        switch self.record.decision {
        case .allowed: span.attribute("sallyport.decision", "allowed" as StaticString)
        case .denied: span.attribute("sallyport.decision", "denied" as StaticString)
        case nil: break
        }
        if let reason = self.record.reason ?? self.record.note ?? self.record.absence {
            span.attribute("sallyport.reason", reason.rawValue)
        }
        if let fingerprint = self.record.log.fingerprint { span.attribute("sallyport.session", fingerprint) }
        if self.record.sessionSource != .none { span.attribute("sallyport.cache", self.record.sessionSource.rawValue) }
        let requestID = self.record.requestID
        if requestID.given != nil || requestID.seed != trace.id.high || requestID.sequence != trace.id.low {
            requestID.withBytes { span.attribute("sallyport.request_id", $0) }
        }
    }
}

extension SpanClock {
    /// The head of a span of `trace`.
    fileprivate func head(
        of trace: RequestTrace,
        _ id: UInt64,
        below parent: UInt64,
        _ kind: SpanKind,
        from start: NIODeadline,
        to end: NIODeadline
    ) -> SpanHead {
        var head = SpanHead(
            trace: trace.id,
            span: id,
            kind: kind,
            start: self.time(start.uptimeNanoseconds),
            end: self.time(end.uptimeNanoseconds)
        )
        head.parent = parent
        return head
    }
}

/// Words of the conventions.
private enum SpanText {
    /// The name of a span whose method is none of HTTP's own, of which a client can invent any number.
    static var otherMethod: UnsafeRawBufferPointer { self.bytes("HTTP") }
    static var other: UnsafeRawBufferPointer { self.bytes("_OTHER") }

    private static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}

extension LoggedRequest {
    /// Passes the method; nil: it is none of those that RFC 9110 and RFC 5789 define.
    fileprivate func withMethod(_ body: (UnsafeRawBufferPointer?) -> Void) {
        self.with(self.method) { method in
            guard let start = method.baseAddress else { return body(nil) }
            let isKnown = Self.methods.contains { known in
                known.utf8CodeUnitCount == method.count && memcmp(known.utf8Start, start, method.count) == 0
            }
            body(isKnown ? method : nil)
        }
    }

    private static let methods: [StaticString] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    /// Passes the path, without the query.
    fileprivate func withPath(_ body: (UnsafeRawBufferPointer) -> Void) {
        if !self.path.isEmpty { self.with(self.path, body) }
    }

    fileprivate func withUserAgent(_ body: (UnsafeRawBufferPointer) -> Void) {
        if let userAgent, !userAgent.isEmpty { self.with(userAgent, body) }
    }

    private func with(_ slice: Slice, _ body: (UnsafeRawBufferPointer) -> Void) {
        guard let bytes = self.bytes else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        bytes.withUnsafeReadableBytes { bytes in
            guard slice.end <= bytes.count else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
            body(UnsafeRawBufferPointer(rebasing: bytes[slice.start..<slice.end]))
        }
    }
}
