import AddressIntelligence
import Endpoints
import JOSE
import NIOCore
import Observability
import Pages
import Sessions
import Settings
import SignOn
import Vocabulary

/// The next step of a judged request. It is performed after the borrowed bytes of the head are released.
enum Step {
    /// The request is permitted, and the head for the app is written.
    case forward
    /// The request that a check describes is permitted.
    case grant(GrantedFields)
    case answer(LocalAnswer)
    /// One of the gateway's endpoints answers after the body has been collected.
    case collect(PendingEndpoint)
    /// The store or a provider is asked for a session.
    case ask(SessionRead, SessionQuestion.Purpose)
    /// A session-transfer token is consumed.
    case consume(OutOfLine<HandoffRequest>)
    /// The store is asked whether a DPoP proof is new.
    case redeem(EventLoopFuture<DPoPRefusal?>)

    /// True if the request waits for a result and needs its head afterwards.
    var waits: Bool {
        switch self {
        case .ask, .consume, .redeem: true
        case .forward, .grant, .answer, .collect: false
        }
    }
}

/// Drives the request's judge: looks up sessions, consumes tokens, records the judge's events.
extension Exchange {
    /// Judges a request. If the request must wait, keeps its head and bytes.
    ///
    /// - Parameters:
    ///   - head: The loop's head.
    ///   - buffer: The bytes of the head.
    @inline(__always)
    func judge(_ head: RequestHead, in buffer: ByteBuffer, by configuration: PathConfiguration) -> Step {
        if self.loop.isTraced { self.beginTrace(head, buffer, by: configuration) }
        self.keepForLog(head, buffer)
        let step = buffer.withUnsafeReadableBytes { bytes -> Step in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return .answer(.problem(.requestMalformed, requestID: self.record.requestID, closes: true))
            }
            self.noteReader(of: head, base, by: configuration)
            let given = self.given(head, base, configuration)
            let action = self.record.judge.begin(given)
            self.keepNamedHost()
            if let upstream = self.record.pinnedRoute?.use({ $0.upstreamIndex }) {
                self.facts.pool = self.loop.pool(upstream)
            }
            return self.follow(action, given)
        }
        if step.waits {
            // The loop uses another head from now on.
            self.waitingHead = self.loop.takeRequestHead()
            self.waitingBytes = self.loop.copy(buffer, count: head.byteCount)
        }
        return step
    }

    /// Retains a host under a wildcard, because the loop may release such a host before the request ends.
    @inline(__always)
    func keepNamedHost() {
        if let host = self.record.pinnedHost, host.use({ $0.isNamed }) { self.namedHost = host.counted }
    }

    /// Records whether a refusal must be a page, and in which language.
    @inline(__always)
    func noteReader(of head: RequestHead, _ base: Bytes, by configuration: PathConfiguration) {
        guard Navigation.wantsPage(head, base) else { return }
        self.facts.wantsPage = true
        let languages = configuration.settings.pages.languages
        self.facts.pageLanguage = UInt8(clamping: Navigation.language(of: head, base, among: languages))
    }

    /// True if the access log or a trace records the request.
    @inline(__always)
    var isRecorded: Bool { self.loop.accessLog != nil || self.record.trace != nil }

    /// Keeps the head for the access log.
    @inline(__always)
    func keepForLog(_ head: RequestHead, _ buffer: ByteBuffer) {
        guard self.loop.accessLog != nil, let stream = self.stream else { return }
        self.record.log.keep(head, self.loop.copy(buffer, count: head.byteCount), version: stream.version)
    }

    /// Creates the judging context for all steps of one event, because creating it is costly.
    private func given(_ head: RequestHead, _ base: Bytes, _ configuration: PathConfiguration) -> JudgingContext {
        JudgingContext(
            head,
            base,
            configuration: configuration,
            clients: self.loop.clients,
            peer: self.peer,
            now: self.loop.sessionNow,
            wallNow: self.loop.wallNow,
            scratch: self.loop.scratch.reading,
            proofKeys: self.proofKeys,
            namedHosts: self.namedHosts,
            notesStrayForwarding: !self.loop.hasNotifiedStrayForwarding
        )
    }

    /// Performs the judge's actions until one must wait or the last is done.
    private func follow(_ action: consuming JudgeAction, _ given: JudgingContext) -> Step {
        let base = given.base
        var next = action
        while true {
            if !self.record.judge.findings.events.isEmpty { self.record(base) }
            switch consume next {
            case .ask(let question):
                let answer: SessionAnswer
                switch self.resolve(question, given) {
                case .hit(let session): answer = .found(session)
                case .miss(let read):
                    if question.purpose == .request {
                        self.record.sessionSource = .store
                        if self.isRecorded { self.record.log.fingerprint = read.fingerprint }
                    }
                    guard let result = read.result else { return .ask(read, question.purpose) }
                    next = self.proceed(Arrival(result, of: read, question.purpose), given)
                    continue
                case .otherKind: answer = .none
                case .otherKey: answer = .otherKey
                case .malformed: answer = .malformed
                }
                if question.purpose == .request { self.noteSession(answer, in: .l1) }
                next = self.record.judge.sessionFound(answer, given)
            case .consume(let request):
                return .consume(request)
            case .redeem(let proof):
                switch self.redeem(proof.value) {
                case .now(let result): next = self.proceed(Arrival(result), given)
                case .later(let future): return .redeem(future)
                }
            case .collect(let call):
                return .collect(PendingEndpoint(endpoint: call.value.endpoint, request: call.value.request))
            case .permitted(let permit, let identity):
                if let form = self.check { return self.report(permit, identity, given, as: form) }
                return self.forward(permit, identity, given)
            case .answer(let answer):
                return .answer(answer)
            }
        }
    }

    /// Looks up a session for the judge.
    @inline(__always)
    private func resolve(_ question: SessionQuestion, _ given: JudgingContext) -> Resolution {
        guard let host = self.record.pinnedHost, let resolver = self.resolver else {
            preconditionFailure("a session is asked for where there is none")
        }
        let token = UnsafeRawBufferPointer(question.token.bytes(in: given.base))
        return host.use { host in
            resolver.use { resolver in
                if let trace = self.record.trace { resolver.asker = trace.counted }
                defer { if self.record.trace != nil { resolver.asker = nil } }
                return question.isProviders
                    ? resolver.resolve(providerCookie: token, of: host.realms, for: self.clientKey, now: given.now)
                    : resolver.resolve(
                        question.kind,
                        token: token,
                        of: host.realms,
                        for: self.clientKey,
                        now: given.now
                    )
            }
        }
    }

    /// Records the result of a session's look-up. `source` is where the session was found.
    @inline(__always)
    private func noteSession(_ answer: SessionAnswer, in source: SessionSource) {
        guard case .found(let session) = answer else { return self.metrics.sessionResolved(.none) }
        if self.isRecorded { self.record.log.fingerprint = session.fingerprint }
        self.record.sessionSource = source
        self.metrics.sessionResolved(source)
    }

    private func record(_ base: Bytes) {
        let events = self.record.judge.findings.events
        self.record.judge.findings.events = []
        let (judging, sessions) = (self.configuration.judging, self.loop.sessions)
        for event in events {
            switch event {
            case .audit(let event):
                judging?.audit.emit(event)
            case .ambiguousCookies(let values, let event):
                let known = values.compactMap {
                    sessions?.resolver.cache.lookup(
                        UnsafeRawBufferPointer($0.bytes(in: base)),
                        now: self.loop.sessionNow
                    )
                }
                judging?.audit.emit(event.naming(known, on: self.record.host?.publicURL.authority))
            case .turnedAway(let reason, let request):
                judging?.handoff.recordRejection(reason, request)
            case .asked(let reason, let request):
                judging?.handoff.ask(reason, request)
            case .strayForwarding(let field):
                self.loop.notifyStrayForwarding(field, self.peer)
            case .unknownHost(let authority):
                self.loop.notifyUnknownHost(authority.bytes(in: base), self.peer)
            case .wouldReject(let binding, let device, let event):
                guard sessions?.seenDevices.isNew(device) == true else { continue }
                self.metrics.bindingWouldReject(binding)
                judging?.audit.emit(event)
            case .ends(let session):
                sessions?.resolver.end(session)
            }
        }
    }

    // MARK: Waiting

    /// A result that the judge has requested.
    private enum Arrival {
        case session(SessionAnswer, SessionQuestion.Purpose)
        case handoff(JudgedHandoff)
        /// The reason for rejecting a DPoP proof. `nil` if the proof is new.
        case proof(DPoPRefusal?)
        /// The store or a provider failed: its error, and the reason to report.
        case unavailable(StoreError, Reason)

        /// Why the store or provider gave no answer. `nil` if it answered.
        var failure: Reason? {
            if case .unavailable(_, let reason) = self { reason } else { nil }
        }

        init(_ result: Result<CachedSession?, StoreError>, of read: SessionRead, _ purpose: SessionQuestion.Purpose) {
            switch result {
            case .success(let session?): self = .session(.found(session), purpose)
            case .success(nil):
                self = .session(read.demand.map { .insufficient($0) } ?? .refused(read.refusal), purpose)
            case .failure(let error): self = .unavailable(error, read.failure)
            }
        }

        init(_ redemption: Result<DPoPRefusal?, any Error>) {
            switch redemption {
            case .success(let refusal): self = .proof(refusal)
            case .failure(StoreError.full): self = .unavailable(.full, .storeFull)
            case .failure: self = .unavailable(.unavailable, .storeUnavailable)
            }
        }
    }

    /// Performs one step.
    func take(_ step: Step) {
        switch step {
        case .forward:
            guard let pool = self.facts.pool else {
                return self.answer(.problem(.routeNotFound, requestID: self.record.requestID))
            }
            self.record.isForwarded = true
            if self.record.session != nil { self.stream?.signedIn() }
            if self.facts.hasSizedBody { self.expectBody() } else { self.takeStream(of: pool) }
        case .grant(let fields):
            self.checkResult = .allowed
            self.send(fields.answer, fields.lines)
        case .answer(let answer):
            self.answer(answer)
        case .collect(let pending):
            self.beginCollecting(pending)
        case .ask(let read, let purpose):
            let exchange = self.beginWaiting()
            if self.record.trace != nil, !read.asksProvider { self.storeIsAsked("session") }
            // A future would cost more for every request whose session is not in the cache.
            read.whenFound { result in
                if self.isWaiting(in: exchange) { self.resume(Arrival(result, of: read, purpose)) }
            }
        case .consume(let request):
            guard let consumer = self.configuration.judging?.handoff else {
                return self.resume(.unavailable(.unavailable, .storeUnavailable))
            }
            if self.record.trace != nil { self.storeIsAsked("handoff") }
            if self.isRecorded {
                self.record.log.tokenFingerprint = consumer.fingerprint(of: request.value.token)
            }
            self.await(consumer.consume(request.value, on: self.loop.eventLoop)) { connection, result in
                connection.resume(.handoff((try? result.get()) ?? JudgedHandoff(.unavailable(.unavailable))))
            }
        case .redeem(let redemption):
            if self.record.trace != nil { self.storeIsAsked("proof") }
            self.await(redemption) { exchange, result in exchange.resume(Arrival(result)) }
        }
    }

    /// Continues a waiting request.
    private func resume(_ arrival: Arrival) {
        guard let head = self.waitingHead, let bytes = self.waitingBytes else { return }
        if self.record.trace != nil { self.storeAnswered(arrival.failure) }
        let step = bytes.withUnsafeReadableBytes { bytes -> Step in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return .answer(.problem(.requestMalformed, requestID: self.record.requestID, closes: true))
            }
            let given = self.given(head, base, self.configuration)
            return self.follow(self.proceed(arrival, given), given)
        }
        if !step.waits { self.releaseWaiting() }
        self.take(step)
        self.process()
    }

    /// Passes a result to the judge.
    private func proceed(_ arrival: Arrival, _ given: JudgingContext) -> JudgeAction {
        switch arrival {
        case .session(let answer, let purpose):
            if purpose == .request { self.noteSession(answer, in: .store) }
            return self.record.judge.sessionFound(answer, given)
        case .handoff(let judged):
            return self.record.judge.handoffEnded(judged, given)
        case .proof(let refusal):
            return self.record.judge.proofRedeemed(refusal, given)
        case .unavailable(let error, let reason):
            return self.record.judge.unavailable(error, reason, given)
        }
    }

    private func redeem(_ proof: DPoPProof) -> Eventual<DPoPRefusal?> {
        guard let gate = self.configuration.judging?.proofs else { return .failure(StoreError.unavailable) }
        return gate.redeem(proof, now: self.loop.sessionNow, on: self.loop.eventLoop)
    }
}
