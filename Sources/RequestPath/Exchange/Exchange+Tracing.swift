import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

/// Writes the spans of a request: for the request itself, each store operation, and each attempt to reach the app.
extension Exchange {
    /// Decides whether the request is traced. Continues the trace in `traceparent` only for trusted clients. Otherwise,
    /// any client could have all its requests recorded or write into the traces of others.
    @inline(__always)
    func beginTrace(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) {
        let isNamed = head.line(.traceParent) != nil
        if self.loop.beginsTraces {
            // The request id is also the trace id, so that a log line leads to its trace. The lower half must look
            // random, because the sampler compares it with a limit.
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

    /// Continues or begins a trace for a request that is recorded or contains a trace or request id.
    @inline(never)
    private func joinTrace(_ head: RequestHead, _ buffer: ByteBuffer, by configuration: PathConfiguration) {
        self.tracer?.use { tracer in
            buffer.withUnsafeReadableBytes { bytes in
                guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    let trace = self.join(head, base, by: configuration, tracer)
                else { return }
                trace.use {
                    $0.describe(
                        head,
                        base,
                        of: self.peerText,
                        isHTTP2: self.isHTTP2,
                        namesPath: tracer.profile.namesPaths,
                        tracer.words
                    )
                }
                self.record.trace = trace
            }
        }
    }

    /// Returns the recorded trace of the request. `nil` if the request is not recorded.
    @inline(__always)
    private func join(
        _ head: RequestHead,
        _ base: Bytes,
        by configuration: PathConfiguration,
        _ tracer: Tracer
    ) -> Pinned<RequestTrace>? {
        let context = head.line(.traceParent) == nil ? nil : TraceFields.context(of: head, base)
        let isTrusted =
            (context != nil || head.line(.requestID) != nil)
            && (tracer.profile.trustsClients || self.service == .checks
                || configuration.clientAddress.trusts(self.peer))
        if let context, isTrusted {
            // The app receives the trace fields of an unsampled trace unchanged.
            guard self.loop.sampler.samples(below: context) else { return nil }
            let trace = tracer.begin(context.trace, below: context.span, of: self.peer, with: &self.keptTrace)
            trace.use { TraceFields.readState(of: head, base, into: &$0.state) }
            return trace
        }
        guard self.loop.beginsTraces, let id = self.ownTrace(isTrusted ? head.value(.requestID, in: base) : nil) else {
            return nil
        }
        guard self.loop.sampler.samples(id.low) else {
            self.record.toldTrace = id
            return nil
        }
        let trace = tracer.begin(id, below: 0, of: self.peer, with: &self.keptTrace)
        if let context { trace.use { $0.link = context } }
        return trace
    }

    /// Returns the id of a new trace that begins with the request.
    ///
    /// - Parameter given: The request id from a trusted proxy. `nil` if there is none.
    @inline(__always)
    private func ownTrace(_ given: UnsafeBufferPointer<UInt8>?) -> TraceID? {
        if let given, let id = TraceID(given) { return id }
        return TraceID(high: self.record.requestID.seed, low: self.record.requestID.sequence)
    }

    /// The trace context for the app. `nil` if the gateway sends none.
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

    /// Records the start of a store operation.
    @inline(never)
    func storeIsAsked(_ operation: StaticString) {
        self.record.trace?.use { $0.storeAsked = (.now(), operation) }
    }

    /// Writes the span of the store operation that has ended.
    ///
    /// - Parameter failure: Why the store gave no answer. `nil` if it answered.
    @inline(never)
    func storeAnswered(_ failure: Reason?) {
        guard let trace = self.record.trace?.counted, let (asked, operation) = trace.storeAsked else { return }
        trace.storeAsked = nil
        guard let tracer = self.tracer?.counted, let system = tracer.profile.store else { return }
        let now = NIODeadline.now()
        let clock = tracer.log.clock(at: now.uptimeNanoseconds)
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

    /// Records the start of an attempt to reach `server`.
    @inline(never)
    func attemptBegins(at server: Pinned<UpstreamServer>, _ now: NIODeadline) {
        self.record.trace?.use { trace in
            server.use { server in
                let isOther = trace.server !== server
                if isOther || trace.attemptBegan == nil { trace.attemptBegan = now }
                if isOther { trace.server = server }
            }
        }
    }

    /// Records the end of the app's answer.
    @inline(__always)
    func attemptEnded() { self.record.trace?.use { $0.attemptEnded = .now() } }

    /// Writes the span of a failed attempt to reach the app.
    ///
    /// - Parameters:
    ///   - reason: Why the attempt failed. `nil` if the status of the app's answer caused a retry.
    ///   - status: The status of the answer. 0 if there was no answer.
    @inline(never)
    func attemptFailed(_ reason: Reason?, status: Int = 0) {
        guard let trace = self.record.trace?.counted, trace.attemptBegan != nil else { return }
        if let tracer = self.tracer?.counted {
            // The span id in the head for the app belongs to the last attempt, so a failed attempt gets another id.
            let now = NIODeadline.now()
            let (id, clock) = (tracer.log.nextSpan(), tracer.log.clock(at: now.uptimeNanoseconds))
            self.writeAttempt(trace, tracer.log.buffer, tracer, clock, span: id, end: now, status, reason)
            tracer.log.ended()
        }
        trace.failedAttempts += 1
        trace.attemptBegan = nil
    }

    // MARK: The spans

    /// Writes the remaining spans of a request that has ended.
    ///
    /// - Parameter slot: The histogram slot of the request's duration.
    @inline(__always)
    func endTrace(_ slot: Int) {
        guard let trace = self.record.trace.take(), let tracer = self.tracer else { return }
        trace.use { trace in tracer.use { self.end(trace, $0, slot) } }
    }

    @inline(never)
    private func end(_ trace: RequestTrace, _ tracer: Tracer, _ slot: Int) {
        let end = self.record.startedAt + .nanoseconds(self.record.nanoseconds)
        let clock = tracer.log.clock(at: end.uptimeNanoseconds)
        self.noteExemplars(of: trace.id, at: clock.time(end.uptimeNanoseconds), slot)
        // The log keeps this buffer until the spans are complete.
        Pinned(tracer.log.buffer).use { span in
            if trace.attemptBegan != nil {
                let failure = trace.attemptEnded == nil ? self.record.reason : nil
                let status = self.record.isAppsAnswer ? self.record.status : 0
                let ended = trace.attemptEnded ?? end
                self.writeAttempt(trace, span, tracer, clock, span: trace.appSpan, end: ended, status, failure)
                trace.attemptBegan = nil
            }
            self.writeRequest(trace, span, tracer, clock, end: end)
        }
        tracer.log.ended()
    }

    /// Adds the trace as an exemplar to the duration metrics. `end` is in nanoseconds since 1970.
    @inline(__always)
    private func noteExemplars(of trace: TraceID, at end: UInt64, _ slot: Int) {
        let time = Int64(truncatingIfNeeded: end / 1_000_000)
        self.metrics.traced(Exemplar(trace: trace, nanoseconds: self.record.nanoseconds, at: time), at: slot)
        guard self.record.isAppsAnswer, self.record.answered.slot >= 0 else { return }
        let (answered, nanoseconds) = self.record.answered
        self.metrics.traced(Exemplar(trace: trace, nanoseconds: nanoseconds, at: time), at: answered)
    }

    /// Properties that distinguish span patterns, besides the attributes of the app, route and host.
    private enum Trait {
        static var hasStatus: UInt64 { 1 &<< 8 }
        static var hasSession: UInt64 { 1 &<< 9 }
        static var hasParent: UInt64 { 1 &<< 10 }
        /// Set if the pattern ends with the origin of a URL. Each span appends its path.
        static var hasURL: UInt64 { 1 &<< 11 }
        static var isAllowed: UInt64 { 1 &<< 12 }
        static var isDenied: UInt64 { 1 &<< 13 }
        static var isCached: UInt64 { 1 &<< 14 }
        static var isStored: UInt64 { 1 &<< 15 }
        /// Set for a request to one of the gateway's endpoints. Its pattern is not reused.
        static var isEndpoints: UInt64 { 1 &<< 16 }

        @inline(__always)
        static func of(_ kind: SpanKind, _ method: KnownMethod) -> UInt64 {
            UInt64(kind.rawValue) | UInt64(method.rawValue) &<< 2
        }
    }

    /// Writes the span of an attempt to reach the app.
    ///
    /// - Parameters:
    ///   - status: The status of the app's answer. 0 if there is no answer.
    ///   - failure: Why the answer is missing or incomplete. `nil` if it is complete.
    @inline(__always)
    private func writeAttempt(
        _ trace: RequestTrace,
        _ span: SpanBuffer,
        _ tracer: Tracer,
        _ clock: SpanClock,
        span id: UInt64,
        end: NIODeadline,
        _ status: Int,
        _ failure: Reason?
    ) {
        guard let began = trace.attemptBegan, let server = trace.server.map({ Pinned($0) }),
            let route = self.record.pinnedRoute
        else { return }
        let head = clock.head(of: trace, id, below: trace.span, .client, from: began, to: end)
        let (path, words) = (trace.pathBytes, tracer.words)
        let hasPrefixes = route.use { $0.prefixes != nil }
        let hasURL =
            !path.isEmpty && !hasPrefixes
            && SpanBuffer.fits(words.url, server.use { $0.origin.count } &+ path.count)
        var traits = Trait.of(.client, trace.method)
        if status > 0 { traits |= Trait.hasStatus }
        if hasURL { traits |= Trait.hasURL }
        let likeness = SpanPatternKey(server.use { $0.spanRun.number }, traits: traits)
        let pattern =
            tracer.patterns.find(likeness)
            ?? self.attemptPattern(likeness, traits, head, trace.method, server.counted, tracer)
        span.begin(like: pattern, head, status: status)
        if hasURL {
            span.complete(words.url, begun: pattern.textCount, path)
        } else if !path.isEmpty {
            self.writeURL(of: server.counted, path, span, words.url)
        }
        if trace.failedAttempts > 0 { span.attribute("http.request.resend_count", trace.failedAttempts) }
        if failure != nil || status >= 400 {
            span.attribute("error.type", failure.map(\.rawValue) ?? "\(status)")
            span.failed()
        }
        span.end()
    }

    @inline(never)
    private func attemptPattern(
        _ likeness: SpanPatternKey,
        _ traits: UInt64,
        _ head: SpanHead,
        _ method: KnownMethod,
        _ server: UpstreamServer,
        _ tracer: Tracer
    ) -> SpanPattern {
        tracer.patterns.make(likeness, head, hasStatus: traits & Trait.hasStatus != 0) { span in
            let word = tracer.words.method(method)
            span.name(word.name)
            span.add(word.run)
            span.add(server.spanRun)
            guard traits & Trait.hasURL != 0 else { return 0 }
            return server.origin.withUnsafeBytes { span.attribute(tracer.words.url, $0) }
        }
    }

    /// Writes the URL requested from the app, without the query.
    @inline(never)
    private func writeURL(
        of server: UpstreamServer,
        _ path: UnsafeBufferPointer<UInt8>,
        _ span: SpanBuffer,
        _ key: SpanKey
    ) {
        let prefixes = self.record.route?.prefixes
        let room = server.origin.count + path.count + (prefixes?.growth ?? 0)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room + 1) { memory in
            guard let base = memory.baseAddress else { return }
            var writer = ByteWriter(base)
            writer.write(server.origin)
            if let prefixes { prefixes.writeOwn(path, &writer) } else { writer.write(path) }
            span.attribute(key, UnsafeRawBufferPointer(start: base, count: writer.count))
        }
    }

    @inline(__always)
    private func writeRequest(
        _ trace: RequestTrace,
        _ span: SpanBuffer,
        _ tracer: Tracer,
        _ clock: SpanClock,
        end: NIODeadline
    ) {
        let head = clock.head(of: trace, trace.span, below: trace.parent, .server, from: self.record.startedAt, to: end)
        let status = self.facts.hasBegunAnswer ? self.record.status : 0
        let traits = self.traits(trace, status)
        let likeness = SpanPatternKey(
            self.record.pinnedRoute.map { route in route.use { $0.spanRun.number } } ?? 0,
            self.record.pinnedHost.map { host in host.use { $0.spanRun.number } } ?? 0,
            traits: traits
        )
        let kept = traits & Trait.isEndpoints == 0 ? tracer.patterns.find(likeness) : nil
        let pattern = kept ?? self.requestPattern(likeness, traits, of: trace, tracer)
        // Compares bits, because `==` would call another module.
        let isPeers = self.record.clientAddress.map { $0.bits == self.peer.bits } ?? true
        let words = trace.noted(isPeers: isPeers)
        span.begin(like: pattern, head, status: status, words)
        if let session = self.record.log.fingerprint { span.put(trace.text(of: session), at: pattern.sessionAt) }
        // The following attributes are rare.
        if !isPeers { span.attribute(tracer.words.client, self.clientText) }
        if !trace.state.isEmpty { trace.state.withUnsafeBytes { span.state($0) } }
        let told = self.record.reason ?? self.record.note ?? self.record.absence
        if told != nil || status >= 500 { self.writeFault(told, status, span) }
        let (seed, sequence) = (self.record.requestID.seed, self.record.requestID.sequence)
        if seed != trace.id.high || sequence != trace.id.low || self.record.requestID.given != nil {
            self.record.requestID.withBytes { _ = span.attribute("sallyport.request_id", $0) }
        }
        if let link = trace.link { span.link(to: link) }
        span.end()
    }

    /// Writes the failure of the request.
    ///
    /// - Parameters:
    ///   - told: The reason that the access line contains.
    ///   - status: The status of the answer. 0 if there is no answer.
    @inline(never)
    private func writeFault(_ told: Reason?, _ status: Int, _ span: SpanBuffer) {
        if let told { span.attribute("sallyport.reason", told.rawValue) }
        let reason = self.record.reason
        if status >= 500 {
            span.attribute("error.type", "\(status)")
        } else if let reason {
            span.attribute("error.type", reason.rawValue)
        }
        if status >= 500 || reason.map({ $0.isFailure && $0 != .clientGone }) == true { span.failed() }
    }

    @inline(__always)
    private func traits(_ trace: RequestTrace, _ status: Int) -> UInt64 {
        var traits = Trait.of(.server, trace.method)
        if trace.parent != 0 { traits |= Trait.hasParent }
        if status > 0 { traits |= Trait.hasStatus }
        if self.record.log.fingerprint != nil { traits |= Trait.hasSession }
        switch self.record.decision {
        case .allowed: traits |= Trait.isAllowed
        case .denied: traits |= Trait.isDenied
        case nil: break
        }
        switch self.record.sessionSource {
        case .none: break
        case .l1: traits |= Trait.isCached
        case .store: traits |= Trait.isStored
        }
        if self.record.pinnedRoute == nil, self.record.endpointPath != nil { traits |= Trait.isEndpoints }
        return traits
    }

    @inline(never)
    private func requestPattern(
        _ likeness: SpanPatternKey,
        _ traits: UInt64,
        of trace: RequestTrace,
        _ tracer: Tracer
    ) -> SpanPattern {
        // Each span sets its own times.
        var head = SpanHead(trace: trace.id, span: trace.span, kind: .server, start: 0, end: 0)
        head.parent = trace.parent
        head.isParentRemote = true
        func has(_ trait: UInt64) -> Bool { traits & trait != 0 }
        return tracer.patterns.make(
            likeness,
            head,
            hasStatus: has(Trait.hasStatus),
            hasSession: has(Trait.hasSession)
        ) { span in
            let words = tracer.words
            let word = words.method(trace.method)
            if let route = self.record.route {
                span.name(word.name, route.spanRun)
            } else if let path = self.record.endpointPath {
                span.name(word.name, SpanRun(name: " \(path)") { $0.attribute("http.route", path) })
            } else {
                span.name(word.name)
            }
            span.add(word.run)
            if let host = self.record.host { span.add(host.spanRun) }
            if has(Trait.isAllowed) { span.add(words.allowed) }
            if has(Trait.isDenied) { span.add(words.denied) }
            if has(Trait.isCached) { span.add(words.cached) }
            if has(Trait.isStored) { span.add(words.stored) }
            return 0
        }
    }
}

extension SpanClock {
    /// Returns the head of a span of `trace`.
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
