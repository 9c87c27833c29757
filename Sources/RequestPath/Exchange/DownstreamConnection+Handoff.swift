import AddressIntelligence
import Endpoints
import Handoff
import NIOCore
import Sessions
import Settings
import Vocabulary

/// The transfer token of a request: whether it is consumed, and what the browser is told (DESIGN 3).
extension DownstreamConnection {
    /// Deals with a transfer token; nil when there is none to deal with.
    func handoff(
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ route: RouteEntry,
        _ host: HostEntry,
        _ session: SessionState
    ) -> Step? {
        var credentials = credentials
        // Not for another site's link: it is not the navigation for which the token was moved.
        if credentials.handoffParameter == nil, let token = credentials.movedToken, !Navigation.isCrossSite(head, base)
        {
            credentials.handoffParameter = HandoffParameter.Found(value: token)
            self.facts.hasMovedToken = true
        }
        guard credentials.cookies.handoff != nil || credentials.handoffParameter != nil else { return nil }
        guard Navigation.mayConsume(head, base) else {
            // A prefetch is refused so that the browser asks again; HEAD and subresources go on without (systems.md T3).
            guard Navigation.isSpeculative(head) else { return nil }
            return .answer(
                self.refusal(.problem(403, .handoffNotNavigation, requestID: self.facts.requestID), head, base)
            )
        }
        guard self.configuration.handoff != nil, let clientID = route.settings.client,
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
        self.facts.hasAttemptCookie = credentials.cookies.hasAttempt
        let attempt = credentials.cookies.attempt.flatMap { AttemptSecret($0.bytes(in: base)) } ?? AttemptSecret()
        // The session that the browser has, by its cookie alone.
        var existing: CachedSession?
        switch session {
        case .existing(let found): existing = found
        case .unresolved, .resolved:
            if let cookie = credentials.cookies.session {
                switch self.loop.sessions.resolve(
                    .web,
                    token: UnsafeRawBufferPointer(cookie.bytes(in: base)),
                    now: self.loop.sessionNow
                )
                {
                case .hit(let found): existing = found
                case .miss(let read): return .existing(read, attempt)
                case .otherKind, .otherKey, .malformed: break
                }
            }
        }
        if let found = existing, found.session.host != host.publicURL.authority { existing = nil }
        let userAgent = head.value(.userAgent, in: base).map { String(decoding: $0.prefix(512), as: UTF8.self) }
        return .handoff(
            HandoffRequest(
                token: Array(token.bytes(in: base)),
                transport: transport,
                authority: host.publicURL.authority,
                client: client,
                device: DeviceFacts(address: self.facts.clientAddress ?? self.peer, asn: nil, userAgent: userAgent),
                existing: existing.map { ($0.key, $0.session) },
                attempt: attempt,
                requestID: self.facts.requestID.text
            ),
            existing
        )
    }

    func beginHandoff(_ request: HandoffRequest, _ existing: CachedSession?) {
        guard let consumer = self.configuration.handoff else {
            return self.handoffFailed(.unavailable, request.attempt)
        }
        self.await(consumer.consume(request, on: self.loop.eventLoop)) { connection, result in
            connection.handoffEnded((try? result.get()) ?? .unavailable(.unavailable), request)
        }
    }

    private func handoffEnded(_ outcome: HandoffOutcome, _ request: HandoffRequest) {
        guard let head = self.waitingHead, let bytes = self.waitingBytes, let host = self.facts.host else { return }
        let cookie = self.configuration.sessionCookie(of: host)
        var reason: Reason?
        self.noteHandoff(outcome, request)
        switch outcome {
        case .unavailable(let error):
            return self.handoffFailed(error, request.attempt)
        case .signedIn(let token, _, _):
            self.addLine("Set-Cookie", cookie.setting(token))
        case .alreadySignedIn:
            break
        case .refused(let refused, let endsExisting):
            reason = refused
            if endsExisting { self.addLine("Set-Cookie", cookie.clearing()) }
        }
        if request.transport == .cookie { self.clearHandoffCookies() }
        if self.facts.hasAttemptCookie {
            self.addLine("Set-Cookie", self.configuration.attemptCookie(of: host).clearing())
        }
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

    /// Says that the store cannot answer. The browser gets what makes a reload the same attempt: the token may have been
    /// used, and only the answer was lost.
    ///
    /// A token stays in its cookie. One in a URL is moved into the attempt cookie, and the browser is sent to the URL without
    /// it, which is told the same if nothing has changed by then. Programs may keep no cookies: theirs stays where it is.
    func handoffFailed(_ error: StoreError, _ attempt: AttemptSecret) {
        let reason: Reason = error == .full ? .storeFull : .storeUnavailable
        var value = attempt.value
        var answer = LocalAnswer.problem(503, reason, requestID: self.facts.requestID)
        self.withWaitingHead { head, base, credentials in
            guard let token = credentials.handoffParameter.map(\.value) ?? credentials.movedToken,
                AttemptCookie.canHold(token.bytes(in: base))
            else { return }
            let isInURL = credentials.handoffParameter != nil
            guard self.facts.wantsPage || !isInURL else { return }
            value = AttemptCookie.value(attempt, moving: token.bytes(in: base))
            if isInURL { answer = self.withoutParameter(head, base, reason) }
        }
        if let host = self.facts.host {
            self.addLine("Set-Cookie", self.configuration.attemptCookie(of: host).setting(value))
        }
        self.answer(answer)
        self.process()
    }

    /// Lends the head of the request that waits, and its credentials.
    private func withWaitingHead(_ body: (RequestHead, Bytes, Credentials) -> Void) {
        guard let head = self.waitingHead, let bytes = self.waitingBytes, let route = self.facts.route,
            let host = self.facts.host
        else { return }
        bytes.withUnsafeReadableBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                case .success(let credentials) = Credentials.read(
                    head,
                    base,
                    route: route,
                    cookies: self.configuration.cookies(of: host),
                    parameter: self.configuration.parameter
                )
            else { return }
            body(head, base, credentials)
        }
    }

    /// 303 to the same URL, byte for byte, minus our parameter: the token leaves the address bar before anything sees it.
    private func withoutParameter(_ head: RequestHead, _ base: Bytes, _ reason: Reason?) -> LocalAnswer {
        // A moved token is in no URL: what it leads back to is the same one, and must not do so again.
        if self.facts.hasMovedToken, let host = self.facts.host {
            self.addLine("Set-Cookie", self.configuration.attemptCookie(of: host).clearing())
        }
        // Origin-form on our own origin: `//evil` in the path stays a path (systems.md T19).
        return .redirect(
            to: (self.facts.host?.publicURL.description ?? "") + self.targetWithoutParameter(head, base),
            reason: reason
        )
    }

    func targetWithoutParameter(_ head: RequestHead, _ base: Bytes) -> String {
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

    func clearAmbiguousCookies(_ credentials: Credentials, _ route: RouteEntry) {
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
        self.facts.extraLines.append(line)
    }
}
