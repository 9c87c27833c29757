import AddressIntelligence
import Endpoints
import Handoff
import NIOCore
import Sessions
import Settings
import Vocabulary

/// What is to be done with a request, or what it waits for.
enum Step {
    /// It was permitted, and its head towards the app is written.
    case forward
    case answer(LocalAnswer)
    /// One of our endpoints: its body is collected first.
    case collect(PendingEndpoint)
    /// The store is asked for the session that these present.
    case session(SessionRead, Credentials)
    /// The session that a browser has already, before its transfer token is consumed in this attempt.
    case existing(SessionRead, AttemptSecret)
    /// A transfer token is consumed.
    case handoff(HandoffRequest, CachedSession?)

    /// The request's head is needed again.
    var waits: Bool {
        switch self {
        case .session, .existing, .handoff: true
        case .forward, .answer, .collect: false
        }
    }
}

/// What is known of the request's session.
enum SessionState {
    case unresolved
    /// Found, or not, for these credentials.
    case resolved(CachedSession?, Credentials)
    /// Found for a transfer token that is about to be consumed.
    case existing(CachedSession?)
}

/// The life of a request up to its permit: route, credentials, handoff, session, decision, head. Each step reads the
/// canonical request and nothing else, and the route is frozen before a credential is looked at.
extension Exchange {
    func judge(
        _ head: RequestHead,
        _ base: Bytes,
        _ session: SessionState = .unresolved
    ) -> Step {
        if self.facts.route == nil, let step = self.chooseRoute(head, base) { return step }
        guard let route = self.facts.route, let host = self.facts.host else {
            return .answer(.problem(404, .routeNotFound, requestID: self.facts.requestID))
        }
        // All before the session was judged before it was waited for.
        if case .resolved(_, let credentials) = session {
            return self.decide(head, base, credentials, route, host, session)
        }
        let configuration = self.configuration
        if let limit = route.maxBody ?? configuration.limits.body, case .length(let length) = head.framing,
            length > limit
        {
            return .answer(.problem(413, .requestBodyTooLarge, requestID: self.facts.requestID))
        }
        if let preflight = self.preflight(head, base, route) { return .answer(preflight) }
        let credentials: Credentials
        switch Credentials.read(
            head,
            base,
            route: route,
            cookies: configuration.cookies(of: host),
            parameter: configuration.parameter
        )
        {
        case .success(let read): credentials = read
        case .failure(let refusal):
            return .answer(
                self.refusal(.problem(refusal.status, refusal.reason, requestID: self.facts.requestID), head, base)
            )
        }
        self.clearAmbiguousCookies(credentials)
        if route.settings.handoff, let step = self.handoff(head, base, credentials, route, host, session) {
            return step
        }
        return self.decide(head, base, credentials, route, host, session)
    }

    // MARK: Route

    /// Freezes the route, or answers where there is none to freeze.
    private func chooseRoute(_ head: RequestHead, _ base: Bytes) -> Step? {
        let configuration = self.configuration
        self.facts.clientAddress = self.clientAddress(head, base)
        guard let host = configuration.routes.host(for: head.authority.bytes(in: base)) else {
            return .answer(.problem(404, .routeNotFound, requestID: self.facts.requestID))
        }
        self.facts.host = host
        if let id = self.trustedRequestID(head, base) { self.facts.requestID.given = id }
        // It asks about the server, and that is the gateway (RFC 9110 9.3.7).
        if head.hasAsteriskTarget(in: base) {
            return .answer(LocalAnswer(status: 204, fields: [("Allow", MethodSet.allow)]))
        }
        let path = head.path.bytes(in: base)
        let method = head.method.bytes(in: base)
        switch PathReading.read(path, into: self.loop.scratch.reading) {
        case .refused(let reason):
            return .answer(.problem(400, reason, requestID: self.facts.requestID))
        case .read(let reading):
            switch configuration.endpoints.match(reading.bytes, method: method, servesSignIn: host.servesSignIn) {
            case .endpoint(let endpoint):
                // A spelling that only reads like one of our paths could be another path to the app.
                guard reading.isRaw else {
                    return .answer(.problem(400, .pathAmbiguous, requestID: self.facts.requestID))
                }
                return .collect(PendingEndpoint(endpoint: endpoint, request: self.endpointRequest(head, base, host)))
            case .methodNotAllowed(let allow):
                return .answer(
                    .problem(405, .routeMethodNotAllowed, requestID: self.facts.requestID, fields: [("Allow", allow)])
                )
            case .none:
                break
            }
            switch configuration.routes.match(host: host, head: head, base, reading: reading) {
            case .route(let route):
                self.facts.route = route
                self.facts.pool = self.loop.pool(route.upstreamIndex)
                return nil
            case .notFound:
                return .answer(.problem(404, .routeNotFound, requestID: self.facts.requestID))
            case .methodNotAllowed(let allow):
                return .answer(
                    .problem(405, .routeMethodNotAllowed, requestID: self.facts.requestID, fields: [("Allow", allow)])
                )
            case .refused(let reason):
                return .answer(.problem(400, reason, requestID: self.facts.requestID))
            }
        }
    }

    private var peerIsTrusted: Bool { self.configuration.clientAddress.trusts(self.peer) }

    private func clientAddress(_ head: RequestHead, _ base: Bytes) -> IPAddress {
        let rule = self.configuration.clientAddress
        guard rule.trusts(self.peer) else {
            if !self.loop.hasToldStrayForwarding { self.noteStrayForwarding(head, base) }
            return self.peer
        }
        let role: FieldRole = rule.header == .xForwardedFor ? .forwardedFor : .forwarded
        var values: [UnsafeBufferPointer<UInt8>] = []
        for index in 0..<head.fields.count where head.fields[index].role == role {
            values.append(head.fields[index].value.bytes(in: base))
        }
        return rule.client(peer: self.peer, values: values)
    }

    /// Tells once of a field by which a proxy names its clients, from a peer that is not believed: as a rule a proxy that
    /// `trusted_proxies` should name.
    private func noteStrayForwarding(_ head: RequestHead, _ base: Bytes) {
        if head.line(.forwardedFor) != nil {
            self.loop.tellStrayForwarding("X-Forwarded-For", self.peer)
        } else if head.line(.forwarded) != nil {
            self.loop.tellStrayForwarding("Forwarded", self.peer)
        } else if head.line(.managed) != nil {
            for index in 0..<head.fields.count where head.fields[index].role == .managed {
                guard ByteClass.equal(head.fields[index].name.bytes(in: base), "x-real-ip") else { continue }
                return self.loop.tellStrayForwarding("X-Real-IP", self.peer)
            }
        }
    }

    /// A trusted proxy's request id, if it is short and of token characters: it goes into logs and answers.
    private func trustedRequestID(_ head: RequestHead, _ base: Bytes) -> [UInt8]? {
        guard let value = head.value(.requestID, in: base), self.peerIsTrusted, (1...64).contains(value.count),
            value.allSatisfy({ $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x2E })
        else { return nil }
        return Array(value)
    }

    private func endpointRequest(_ head: RequestHead, _ base: Bytes, _ host: HostEntry) -> EndpointRequest {
        var fields: [(name: String, value: String)] = []
        for index in 0..<head.fields.count {
            let line = head.fields[index]
            // What only the gateway may say is not there for its endpoints either.
            guard !line.isDropped || line.role == .upgrade else { continue }
            let name = String(decoding: line.name.bytes(in: base), as: UTF8.self).lowercased()
            fields.append((name, String(decoding: line.value.bytes(in: base), as: UTF8.self)))
        }
        return EndpointRequest(
            method: String(decoding: head.method.bytes(in: base), as: UTF8.self),
            path: String(decoding: head.path.bytes(in: base), as: UTF8.self),
            query: QueryText.parameters(head.query.bytes(in: base)),
            fields: fields,
            body: [],
            address: self.facts.clientAddress ?? self.peer,
            origin: host.publicURL.description,
            authority: host.publicURL.authority,
            isSecure: host.publicURL.isHTTPS,
            requestID: self.facts.requestID.text
        )
    }

    // MARK: Session and decision

    private func decide(
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ route: RouteEntry,
        _ host: HostEntry,
        _ state: SessionState
    ) -> Step {
        var evidence = Evidence(
            session: nil,
            missing: .credentialMissing,
            isExplicit: false,
            isCrossSite: false,
            bindingMismatch: nil,
            now: self.loop.sessionNow
        )
        if route.settings.auth != .public {
            switch self.resolve(head, base, credentials, host, state, &evidence) {
            case .some(let step): return step
            case .none: break
            }
        }
        switch Decision.judge(route, evidence) {
        case .permitted(let permit):
            return self.forward(head, base, credentials, host, permit)
        case .denied(let denial):
            self.audit(denial, of: evidence.session, head, base)
            return .answer(self.denied(denial, head, base, route, credentials, evidence.session?.session))
        }
    }

    /// Fills in the session; a step when the store has to be asked.
    @inline(__always)
    private func resolve(
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ host: HostEntry,
        _ state: SessionState,
        _ evidence: inout Evidence
    ) -> Step? {
        let kind: Session.Kind
        let token: Slice
        switch credentials.presented {
        case .none:
            if credentials.cookies.sessionIsAmbiguous {
                evidence.missing = .credentialAmbiguousCookie
                self.auditAmbiguousCookies(head, base, host)
            }
            return nil
        case .unusable(let reason):
            evidence.isExplicit = true
            evidence.missing = reason
            return nil
        case .explicit(let value):
            evidence.isExplicit = true
            kind = .native
            token = value
        case .cookie where self.facts.ignoresSessionCookie:
            evidence.missing = self.facts.note ?? .sessionUnknown
            return nil
        case .cookie(let value):
            kind = .web
            token = value
        }
        evidence.missing = .sessionUnknown
        var found: CachedSession?
        switch state {
        case .resolved(let session, _):
            found = session
        case .unresolved, .existing:
            switch self.loop.sessions.resolve(
                kind,
                token: UnsafeRawBufferPointer(token.bytes(in: base)),
                now: self.loop.sessionNow
            )
            {
            case .hit(let session):
                found = session
                self.facts.sessionSource = .l1
            case .miss(let read):
                self.facts.sessionSource = .store
                return .session(read, credentials)
            case .otherKind:
                break
            case .otherKey:
                evidence.missing = .credentialOtherKey
            case .malformed:
                evidence.missing = .credentialMalformed
            }
        }
        guard let session = found else {
            self.loop.metrics.sessionResolved(.none)
            return nil
        }
        self.loop.metrics.sessionResolved(self.facts.sessionSource)
        // A cookie is good on the host it was made for and on no other (RFC 6265 8.6: cookies do not respect ports).
        if kind == .web, session.session.host != host.publicURL.authority {
            evidence.missing = .sessionOtherHost
            return nil
        }
        evidence.session = session
        if kind == .web {
            evidence.isCrossSite = CrossSite.isSuspect(
                head,
                base,
                origin: host.origin,
                trusted: self.facts.route?.trustedOrigins ?? []
            )
        }
        if let route = self.facts.route, route.settings.liveBinding != .none {
            evidence.bindingMismatch = self.liveBindingMismatch(route.settings.liveBinding, session.session, head, base)
        }
        return nil
    }

    /// The device that uses the session now against the one it was made for.
    func liveBindingMismatch(
        _ mode: BindingMode,
        _ session: Session,
        _ head: RequestHead,
        _ base: Bytes
    ) -> Reason? {
        let now = self.configuration.devices.facts(
            address: self.facts.clientAddress ?? self.peer,
            userAgent: nil
        )
        guard let made = session.device else { return .bindingIPMismatch }
        return BindingJudge.judge(mode, minted: made, presented: now)
    }

    // MARK: Forward

    /// Consumes the permit: writes the one head that may go to the app.
    private func forward(
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ host: HostEntry,
        _ permit: consuming Permit
    ) -> Step {
        let configuration = self.configuration
        var identity: ContiguousArray<UInt8>?
        if let session = permit.session {
            self.facts.session = session
            switch self.identityLines(session) {
            case .success(let lines): identity = lines
            case .failure(let refusal):
                return .answer(.problem(refusal.status, refusal.reason, requestID: self.facts.requestID))
            }
        }
        if let lines = permit.route.crossOriginLines {
            self.facts.crossOriginLines = lines.lines(for: head.value(.origin, in: base))
        }
        var address = self.peerText
        if let client = self.facts.clientAddress, client != self.peer { address = Array(client.description.utf8) }
        self.upstreamHead = PermittedHead(
            head,
            base,
            permit: permit,
            credentials: credentials,
            facts: ForwardedFacts(
                address: address,
                hostLines: host.forwardedLines,
                requestID: self.facts.requestID,
                identity: identity
            ),
            cookies: configuration.cookies(of: host),
            parameter: configuration.parameter,
            into: self.loop.takeBuffer()
        )
        return .forward
    }

    /// The session's identity lines, made once per session, loop and configuration.
    @inline(__always)
    private func identityLines(_ session: CachedSession) -> Result<ContiguousArray<UInt8>, Refusal> {
        let configuration = self.configuration
        if let ready = session.rendering(generation: configuration.generation) { return .success(ready) }
        switch configuration.identity.render(session.session) {
        case .success(let ready):
            session.setRendering(ready, generation: configuration.generation)
            return .success(ready)
        case .failure(let refused):
            return .failure(Refusal(403, refused.reason))
        }
    }
}
