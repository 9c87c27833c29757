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
    /// The store is asked for the session that it presents.
    case session(EventLoopFuture<CachedSession?>)
    /// The session that a browser has already, before its transfer token is consumed.
    case existing(EventLoopFuture<CachedSession?>)
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
    case resolved(CachedSession?)
    /// Found for a transfer token that is about to be consumed.
    case existing(CachedSession?)
}

/// The life of a request up to its permit: route, credentials, handoff, session, decision, head. Each step reads the
/// canonical request and nothing else, and the route is frozen before a credential is looked at (DESIGN 1).
extension DownstreamConnection {
    func judge(
        _ head: RequestHead,
        _ base: Bytes,
        _ session: SessionState = .unresolved
    ) -> Step {
        if self.facts.route == nil, let step = self.chooseRoute(head, base) { return step }
        guard let route = self.facts.route, let host = self.facts.host else {
            return .answer(.problem(404, .routeNotFound, requestID: self.facts.requestID))
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
        self.clearAmbiguousCookies(credentials, route)
        if route.settings.handoff, !self.facts.isHandoffDone,
            let step = self.handoff(head, base, credentials, route, host, session)
        {
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
            switch configuration.routes.match(host: host, method: method, rawPath: path, reading: reading) {
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
        guard rule.trusts(self.peer) else { return self.peer }
        let role: FieldRole = rule.header == .xForwardedFor ? .forwardedFor : .forwarded
        var values: [UnsafeBufferPointer<UInt8>] = []
        for index in 0..<head.fields.count where head.fields[index].role == role {
            values.append(head.fields[index].value.bytes(in: base))
        }
        return rule.client(peer: self.peer, values: values)
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

    // MARK: Handoff

    /// Deals with a transfer token; nil when there is none to deal with.
    private func handoff(
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ route: RouteEntry,
        _ host: HostEntry,
        _ session: SessionState
    ) -> Step? {
        guard credentials.cookies.handoff != nil || credentials.handoffParameter != nil else { return nil }
        guard Navigation.mayConsume(head, base) else {
            // A prefetch is refused so that the browser asks again; HEAD and subresources go on without (systems.md T3).
            guard Navigation.isSpeculative(head) else { return nil }
            return .answer(
                self.refusal(.problem(403, .handoffNotNavigation, requestID: self.facts.requestID), head, base)
            )
        }
        guard let consumer = self.configuration.handoff, let clientID = route.settings.client,
            let client = self.configuration.clients.client(clientID)
        else { return nil }
        let transport: HandoffTransport
        let token: Slice
        if let cookie = credentials.cookies.handoff {
            transport = .cookie
            token = cookie
        } else {
            transport = .query
            guard let value = credentials.handoffParameter?.value else {
                return .answer(self.withoutParameter(head, base, .handoffRepeated))
            }
            token = value
            // Until the user has confirmed, another site's link must not sign them in (systems.md T7).
            if Navigation.isCrossSite(head, base) {
                return .answer(self.withoutParameter(head, base, .handoffCrossSite))
            }
        }
        // The session that the browser has, by its cookie alone.
        var existing: CachedSession?
        switch session {
        case .existing(let found): existing = found
        case .unresolved, .resolved:
            if let cookie = credentials.cookies.session {
                switch self.loop.sessions.resolve(
                    .web,
                    token: UnsafeRawBufferPointer(cookie.bytes(in: base)),
                    now: self.loop.wallNow
                )
                {
                case .hit(let found): existing = found
                case .miss(let future): return .existing(future)
                case .malformed: break
                }
            }
        }
        if let found = existing, found.session.host != host.publicURL.authority { existing = nil }
        _ = consumer
        let userAgent = head.value(.userAgent, in: base).map { String(decoding: $0.prefix(512), as: UTF8.self) }
        return .handoff(
            HandoffRequest(
                token: Array(token.bytes(in: base)),
                transport: transport,
                authority: host.publicURL.authority,
                client: client,
                device: DeviceFacts(address: self.facts.clientAddress ?? self.peer, asn: nil, userAgent: userAgent),
                existing: existing.map { ($0.key, $0.session) },
                requestID: self.facts.requestID.text
            ),
            existing
        )
    }

    func beginHandoff(_ request: HandoffRequest, _ existing: CachedSession?) {
        guard let consumer = self.configuration.handoff else { return self.storeFailed() }
        self.await(consumer.consume(request, on: self.loop.eventLoop)) { connection, result in
            connection.handoffEnded((try? result.get()) ?? .unavailable(.unavailable), request)
        }
    }

    private func handoffEnded(_ outcome: HandoffOutcome, _ request: HandoffRequest) {
        guard let head = self.waitingHead, let bytes = self.waitingBytes, let host = self.facts.host else { return }
        let cookie = self.configuration.sessionCookie(of: host)
        var reason: Reason?
        switch outcome {
        case .unavailable(let error):
            self.answer(.problem(503, error == .full ? .storeFull : .storeUnavailable, requestID: self.facts.requestID))
            return self.process()
        case .signedIn(let token, _, _):
            self.addLine("Set-Cookie", cookie.setting(token))
        case .alreadySignedIn:
            break
        case .refused(let refused, let endsExisting):
            reason = refused
            if endsExisting { self.addLine("Set-Cookie", cookie.clearing()) }
        }
        if request.transport == .cookie { self.clearHandoffCookies() }
        self.facts.isHandoffDone = true
        if case .signedIn = outcome {
            self.facts.note = nil
        } else if request.transport == .cookie {
            // No redirect, or a cookie that our clearing does not reach would go round for ever: the request goes on
            // without the token, and its answer clears the cookie. A refused token means not signed in (DESIGN 3);
            // a repeated one leaves the session that it made, and neither touches an explicit credential.
            self.facts.note = reason
            self.facts.ignoresSessionCookie = reason != nil
            return self.resumeJudging(.unresolved)
        }
        do {
            let answer = bytes.withUnsafeReadableBytes { bytes in
                bytes.baseAddress.map {
                    self.withoutParameter(head, $0.assumingMemoryBound(to: UInt8.self), reason)
                }
            }
            self.answer(answer ?? .problem(400, .requestMalformed, closes: true))
            self.process()
        }
    }

    /// 303 to the same URL, byte for byte, minus our parameter: the token leaves the address bar before anything sees it.
    private func withoutParameter(_ head: RequestHead, _ base: Bytes, _ reason: Reason?) -> LocalAnswer {
        // Origin-form on our own origin: `//evil` in the path stays a path (systems.md T19).
        .redirect(
            to: (self.facts.host?.publicURL.description ?? "") + self.targetWithoutParameter(head, base),
            reason: reason
        )
    }

    private func targetWithoutParameter(_ head: RequestHead, _ base: Bytes) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: head.target.length + 1) { room in
            guard let start = room.baseAddress else { return "/" }
            var writer = ByteWriter(start)
            if head.hasQuery {
                RequestWriter.writeTarget(head, base, self.configuration.parameter, &writer)
            } else {
                writer.write(base + head.path.start, head.path.length)
            }
            return String(decoding: UnsafeBufferPointer(start: start, count: writer.count), as: UTF8.self)
        }
    }

    private func clearAmbiguousCookies(_ credentials: Credentials, _ route: RouteEntry) {
        guard credentials.cookies.sessionIsAmbiguous || credentials.cookies.handoffIsAmbiguous else { return }
        if credentials.cookies.sessionIsAmbiguous, let host = self.facts.host {
            self.addLine("Set-Cookie", self.configuration.sessionCookie(of: host).clearing())
            self.facts.note = .credentialAmbiguousCookie
        }
        if credentials.cookies.handoffIsAmbiguous, route.settings.handoff {
            self.clearHandoffCookies()
            self.facts.note = .handoffRepeated
        }
    }

    /// Host-only and with the host as its domain: apps set it either way (systems.md 5.4).
    private func clearHandoffCookies() {
        guard let host = self.facts.host else { return }
        let attributes = host.publicURL.isHTTPS ? "; Secure; HttpOnly; SameSite=None" : "; HttpOnly"
        for name in self.configuration.settings.handoff.cookieNames {
            self.addLine("Set-Cookie", "\(name)=; Path=/; Max-Age=0\(attributes)")
            self.addLine("Set-Cookie", "\(name)=; Path=/; Domain=\(host.publicURL.host); Max-Age=0\(attributes)")
        }
    }

    private func addLine(_ name: String, _ value: String) {
        let line = Array("\(name): \(value)\r\n".utf8)
        // The same request may be judged twice, before and after it waited.
        guard !self.facts.extraLines.contains(line) else { return }
        self.facts.extraLines += line
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
            now: self.loop.wallNow
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
            return .answer(self.denied(denial, head, base, route, credentials))
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
        case .resolved(let session):
            found = session
        case .unresolved, .existing:
            switch self.loop.sessions.resolve(
                kind,
                token: UnsafeRawBufferPointer(token.bytes(in: base)),
                now: self.loop.wallNow
            )
            {
            case .hit(let session):
                found = session
                self.facts.sessionSource = .l1
            case .miss(let future):
                self.facts.sessionSource = .store
                return .session(future)
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
    private func liveBindingMismatch(
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
        var address = self.peerText
        if let client = self.facts.clientAddress, client != self.peer { address = Array(client.description.utf8) }
        var buffer = self.loop.takeBuffer()
        RequestWriter.write(
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
            into: &buffer
        )
        self.upstreamHead = buffer
        self.permit = consume permit
        return .forward
    }

    /// The session's identity lines, made once per session, loop and configuration.
    @inline(__always)
    private func identityLines(_ session: CachedSession) -> Result<ContiguousArray<UInt8>, Refusal> {
        let configuration = self.configuration
        if let ready = session.rendering(profile: 0, generation: configuration.generation) { return .success(ready) }
        switch configuration.identity.render(session.session) {
        case .success(let lines):
            let ready = ContiguousArray(lines)
            session.setRendering(ready, profile: 0, generation: configuration.generation)
            return .success(ready)
        case .failure(let refused):
            return .failure(Refusal(403, refused.reason))
        }
    }

    // MARK: Refusals

    private func denied(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteEntry,
        _ credentials: Credentials
    ) -> LocalAnswer {
        switch denial {
        case .forbidden(let reason):
            return self.refusal(.problem(403, reason, requestID: self.facts.requestID), head, base)
        case .unauthenticated(let reason):
            let wantsLogin =
                switch route.settings.unauthenticated {
                case .auto: Navigation.wantsPage(head, base)
                case .login: head.knownMethod == .get || head.knownMethod == .head
                case .unauthorized: false
                }
            if wantsLogin { return self.toLogin(head, base, reason) }
            // The scheme is named, the reason only if a token was judged (RFC 6750 3.1).
            let isInvalid = credentials.presented != .none
            let challenge = isInvalid ? #"Bearer error="invalid_token""# : "Bearer"
            return self.refusal(
                .problem(401, reason, requestID: self.facts.requestID, fields: [("WWW-Authenticate", challenge)]),
                head,
                base
            )
        }
    }

    /// The login page of this host, which comes back to exactly this target.
    private func toLogin(_ head: RequestHead, _ base: Bytes, _ reason: Reason) -> LocalAnswer {
        var target = Array(head.target.bytes(in: base))
        if self.facts.route?.settings.handoff == true, head.hasQuery,
            self.configuration.parameter.find(in: head.query, base) != nil
        {
            // A token that this request could not use must not come back after the sign-in, for another user maybe (T2, T7).
            target = Array(self.targetWithoutParameter(head, base).utf8)
        }
        var location = (self.facts.host?.publicURL.description ?? "") + "/.sallyport/login?return_to="
        // Percent-encoded whole, so that nothing of it is a parameter of the login page.
        for byte in target {
            if byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26 || byte == 0x2D || byte == 0x2E || byte == 0x5F
                || byte == 0x2F
            {
                location.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = Array("0123456789ABCDEF".unicodeScalars)
                location.unicodeScalars.append("%")
                location.unicodeScalars.append(digits[Int(byte >> 4)])
                location.unicodeScalars.append(digits[Int(byte & 15)])
            }
        }
        return .redirect(to: location, reason: reason)
    }
}
