import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

/// The spans of a request: the gateway's own, and one for each question to the store and each attempt to reach the app. They
/// are written when what they are of has ended.
extension Exchange {
    /// Decides whether the request is traced, once. The parent that a client names is its parent only where the client is
    /// trusted: else anybody could have all requests recorded, or write into the traces of others.
    @inline(__always)
    func beginTrace(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) {
        let isNamed = head.line(.traceParent) != nil
        if self.loop.beginsTraces {
            // The request's id is the trace's, so that there is one to look for. All bits of its lower half must look
            // random, as the sampler compares them.
            let seed = self.record.requestID.seed
            let low = TraceLog.mixed(self.record.requestID.sequence &+ seed)
            self.record.requestID.sequence = low
            if !isNamed, head.line(.requestID) == nil, !self.loop.sampler.samples(low) {
                return self.record.toldTrace = TraceID(high: seed, low: low)
            }
        } else if !isNamed {
            return
        }
        self.joinTrace(head, buffer, by: configuration)
    }

    /// The same for a request that is recorded, or names a trace or an id.
    @inline(never)
    private func joinTrace(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) {
        guard let tracer = self.loop.tracer else { return }
        buffer.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            let context = TraceFields.context(of: head, base)
            let isTrusted =
                tracer.profile.trustsClients || self.service == .checks || configuration.clientAddress.trusts(self.peer)
            if let context, isTrusted {
                // Else its fields reach the app as they are.
                guard self.loop.sampler.samples(below: context) else { return }
                tracer.begin(context.trace, below: context.span, with: &self.keptTrace)
                if let trace = self.keptTrace { TraceFields.readState(of: head, base, into: &trace.state) }
            } else if self.loop.beginsTraces, let id = self.ownTrace(isTrusted ? head.value(.requestID, in: base) : nil)
            {
                guard self.loop.sampler.samples(id.low) else { return self.record.toldTrace = id }
                tracer.begin(id, below: 0, with: &self.keptTrace)
                if let context { self.keptTrace?.link = context }
            } else {
                return
            }
            guard let trace = self.keptTrace else { return }
            let version = self.stream?.version ?? ""
            trace.describe(head, base, of: self.peerText, version: version, tracer.profile, tracer.words)
            self.record.trace = Pinned(trace)
        }
    }

    /// The id of a trace that begins with the request.
    ///
    /// - Parameter given: The id that a trusted proxy gives the request.
    @inline(__always)
    private func ownTrace(_ given: UnsafeBufferPointer<UInt8>?) -> TraceID? {
        if let given, let id = TraceID(given) { return id }
        return TraceID(high: self.record.requestID.seed, low: self.record.requestID.sequence)
    }

    /// The trace as the app learns it; nil: as the client names it.
    @inline(__always)
    var forwardedTrace: ForwardedTrace? {
        if let told = self.record.toldTrace {
            return self.hidesTrace ? nil : ForwardedTrace(unrecorded: told)
        }
        guard let trace = self.record.trace, !self.hidesTrace else { return nil }
        return trace.use { ForwardedTrace($0.id, span: $0.appSpan, keepsState: $0.parent != 0) }
    }

    @inline(__always)
    private var hidesTrace: Bool { self.record.pinnedRoute.map { $0.use { $0.hidesTrace } } == true }

    // MARK: Spans within the request

    /// The request asks the store, and waits.
    @inline(never)
    func storeIsAsked(_ operation: StaticString) {
        self.record.trace?.use { $0.storeAsked = (.now(), operation) }
    }

    /// The store has answered what the request waited for.
    ///
    /// - Parameter failure: Why there is no answer; nil: there is one.
    @inline(never)
    func storeAnswered(_ failure: Reason?) {
        guard let trace = self.record.trace?.counted, let (asked, operation) = trace.storeAsked else { return }
        trace.storeAsked = nil
        guard let tracer = self.loop.tracer, let system = tracer.profile.store else { return }
        let now = NIODeadline.now()
        let clock = tracer.log.clock(at: now)
        let head = clock.head(of: trace, tracer.log.nextSpan(), below: trace.span, .client, from: asked, to: now)
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
    func attemptBegins(at server: UpstreamServer, _ now: NIODeadline) {
        self.record.trace?.use { trace in
            if trace.attempt?.server !== server { trace.attempt = (now, server) }
        }
    }

    /// The app's answer is complete.
    @inline(never)
    func attemptEnded() { self.record.trace?.use { $0.attemptEnded = .now() } }

    /// The attempt has failed, and another one follows.
    ///
    /// - Parameters:
    ///   - reason: nil: the app has answered, and another server may do better.
    ///   - status: That of the answer; 0: there was none.
    @inline(never)
    func attemptFailed(_ reason: Reason?, status: Int = 0) {
        guard let trace = self.record.trace?.counted, trace.attempt != nil else { return }
        if let tracer = self.loop.tracer {
            // The app of the last attempt knows the span that the head names.
            let now = NIODeadline.now()
            let (id, clock) = (tracer.log.nextSpan(), tracer.log.clock(at: now))
            self.writeAttempt(trace, tracer.log.buffer, tracer.words, clock, span: id, end: now, status, reason)
            tracer.log.ended()
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
        _ span: SpanBuffer,
        _ words: SpanWords,
        _ clock: SpanClock,
        span id: UInt64,
        end: NIODeadline,
        _ status: Int,
        _ failure: Reason?
    ) {
        guard let (began, server) = trace.attempt, let route = self.record.pinnedRoute else { return }
        span.begin(clock.head(of: trace, id, below: trace.span, .client, from: began, to: end))
        let method = words.method(trace.method)
        span.name(method.name)
        span.add(method.run)
        span.add(server.spanRun)
        let path = trace.pathBytes
        if !path.isEmpty { route.use { Self.writeURL(of: server, path, $0, span, words.url) } }
        if trace.failedAttempts > 0 { span.attribute("http.request.resend_count", trace.failedAttempts) }
        if status > 0 { span.attribute(words.status, status) }
        if failure != nil || status >= 400 {
            span.attribute("error.type", failure.map(\.rawValue) ?? "\(status)")
            span.failed()
        }
        span.end()
    }

    /// The URL that the app is asked for, without the query.
    @inline(__always)
    private static func writeURL(
        of server: UpstreamServer,
        _ path: UnsafeBufferPointer<UInt8>,
        _ route: RouteEntry,
        _ span: SpanBuffer,
        _ key: SpanKey
    ) {
        let room = server.origin.count + path.count + (route.prefixes?.growth ?? 0)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room + 1) { memory in
            guard let base = memory.baseAddress else { return }
            var writer = ByteWriter(base)
            writer.write(server.origin)
            if let prefixes = route.prefixes { prefixes.writeOwn(path, &writer) } else { writer.write(path) }
            span.attribute(key, UnsafeRawBufferPointer(start: base, count: writer.count))
        }
    }

    // MARK: The request's span

    /// Writes what is left to be written of a request that has ended.
    @inline(__always)
    func endTrace() {
        if let tracer = self.loop.tracer { self.record.trace.take()?.use { self.end($0, tracer) } }
    }

    @inline(never)
    private func end(_ trace: RequestTrace, _ tracer: Tracer) {
        let end = self.record.startedAt + .nanoseconds(self.record.nanoseconds)
        let clock = tracer.log.clock(at: end)
        let span = tracer.log.buffer
        let words = tracer.words
        let reason = self.record.reason
        if trace.attempt != nil {
            let failure = trace.attemptEnded == nil ? reason : nil
            let status = self.record.isAppsAnswer ? self.record.status : 0
            let ended = trace.attemptEnded ?? end
            self.writeAttempt(trace, span, words, clock, span: trace.appSpan, end: ended, status, failure)
            // The object may be kept for long, and a reload may do without the server.
            trace.attempt = nil
        }
        self.noteExemplar(of: trace.id, at: clock.time(end.uptimeNanoseconds))
        var head = clock.head(of: trace, trace.span, below: trace.parent, .server, from: self.record.startedAt, to: end)
        head.isParentRemote = true
        span.begin(head)
        if !trace.state.isEmpty { trace.state.withUnsafeBytes { span.state($0) } }
        self.describeRequest(span, trace, words)
        let status = self.facts.hasBegunAnswer ? self.record.status : 0
        if status > 0 { span.attribute(words.status, status) }
        self.describeDecision(span, trace, words)
        if status >= 500 {
            span.attribute("error.type", "\(status)")
        } else if let reason {
            span.attribute("error.type", reason.rawValue)
        }
        if let link = trace.link { span.link(to: link) }
        if status >= 500 || reason.map({ $0.isFailure && $0 != .clientGone }) == true { span.failed() }
        span.end()
        tracer.log.ended()
    }

    /// - Parameter end: When the request ended, in nanoseconds since 1970.
    @inline(__always)
    private func noteExemplar(of trace: TraceID, at end: UInt64) {
        let route = self.record.pinnedRoute
        self.metrics.traced(
            Exemplar(
                trace: trace,
                nanoseconds: self.record.nanoseconds,
                at: UnixTime(milliseconds: Int64(clamping: end / 1_000_000))
            ),
            route: route?.use { $0.index },
            endpoint: route == nil ? self.record.endpointPath : nil,
            upstream: self.answered
        )
    }

    /// The index of the app that has answered, and how long after the request's beginning it began to.
    private var answered: (index: Int, nanoseconds: Int64)? {
        guard self.record.isAppsAnswer, let index = self.record.pinnedRoute?.use({ $0.upstreamIndex }),
            let sentAt = self.facts.sentAt, let time = self.record.log.upstreamTime
        else { return nil }
        return (index, (sentAt - self.record.startedAt).nanoseconds + time.nanoseconds)
    }

    /// The name of the span, what the request asks for, and who asks.
    @inline(__always)
    private func describeRequest(_ span: SpanBuffer, _ trace: RequestTrace, _ words: SpanWords) {
        let method = words.method(trace.method)
        if let route = self.record.pinnedRoute {
            route.use { span.name(method.name, $0.spanRun) }
        } else if let path = self.record.endpointPath {
            let run = SpanRun(name: " \(path)") { $0.attribute("http.route", path) }
            span.name(method.name, run)
            run.free()
        } else {
            span.name(method.name)
        }
        span.add(method.run)
        if let host = self.record.pinnedHost { host.use { span.add($0.spanRun) } }
        let client = self.record.clientAddress
        let isPeers = client == nil || client == self.peer
        span.add(trace.noted(isPeers: isPeers))
        if !isPeers { span.attribute(words.client, self.clientText) }
    }

    /// What the gateway has decided.
    @inline(__always)
    private func describeDecision(_ span: SpanBuffer, _ trace: RequestTrace, _ words: SpanWords) {
        switch self.record.decision {
        case .allowed: span.add(words.allowed)
        case .denied: span.add(words.denied)
        case nil: break
        }
        if let reason = self.record.reason ?? self.record.note ?? self.record.absence {
            span.attribute("sallyport.reason", reason.rawValue)
        }
        if let fingerprint = self.record.log.fingerprint { span.attribute(words.session, fingerprint) }
        switch self.record.sessionSource {
        case .none: break
        case .l1: span.add(words.cached)
        case .store: span.add(words.stored)
        }
        let (seed, sequence) = (self.record.requestID.seed, self.record.requestID.sequence)
        if seed != trace.id.high || sequence != trace.id.low || self.record.requestID.given != nil {
            self.record.requestID.withBytes { _ = span.attribute("sallyport.request_id", $0) }
        }
    }
}

extension SpanClock {
    /// The head of a span of `trace`.
    @inline(__always)
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
