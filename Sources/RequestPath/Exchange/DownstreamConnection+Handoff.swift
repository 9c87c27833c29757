import AddressIntelligence
import Endpoints
import Handoff
import NIOCore
import Sessions
import Settings
import Vocabulary

/// The transfer tokens of a request: which is consumed, and what the browser is told.
///
/// The cookie is tried first, then the query, each where the client takes tokens there. What is refused goes and leaves the
/// rest of the request as it is: a session stays, and a good token in the query counts beside a stale one in the cookie.
extension Exchange {
    /// Deals with the next transfer token; nil when there is none, or none is left.
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
        guard credentials.cookies.hasHandoff || credentials.handoffParameter != nil else { return nil }
        let mayConsume = Navigation.mayConsume(head, base)
        // HEAD and subresources go on without the token, whatever they bring.
        guard mayConsume || Navigation.isSpeculative(head) else { return nil }
        guard let consumer = self.configuration.handoff, let clientID = route.settings.client,
            let client = self.configuration.clients.client(clientID)
        else { return nil }
        let cookies =
            self.facts.triedHandoffs.contains(.cookie) ? [] : self.handoffCookies(head, base, credentials, host)
        guard !cookies.isEmpty || credentials.handoffParameter != nil else { return nil }
        guard mayConsume else {
            // A prefetch is refused, so that the browser asks again when the user really goes there.
            return .answer(
                self.refusal(.problem(403, .handoffNotNavigation, requestID: self.facts.requestID), head, base)
            )
        }
        func request(_ token: Slice?, _ transport: HandoffTransport) -> HandoffRequest {
            self.handoffRequest(token, transport, head, base, credentials, client, host)
        }
        if let token = cookies.first {
            guard client.takes(.cookie), cookies.count == 1 else {
                let reason: Reason = client.takes(.cookie) ? .handoffRepeated : .handoffMethodNotAllowed
                consumer.turnAway(reason, request(nil, .cookie))
                self.facts.triedHandoffs.insert(.cookie)
                self.facts.note = reason
                self.clearHandoffCookies()
                return self.handoff(head, base, credentials, route, host, session)
            }
            return self.consumption(of: request(token, .cookie), head, base, credentials, route, host, session)
        }
        guard let parameter = credentials.handoffParameter else { return nil }
        // Another user's session ended with the token in the cookie: login follows, whatever the query has.
        if self.facts.ignoresSessionCookie { return .answer(self.withoutParameter(head, base, self.facts.note)) }
        if let reason = Self.objection(to: parameter, of: head, base, client) {
            consumer.turnAway(reason, request(nil, .query))
            return .answer(self.withoutParameter(head, base, reason))
        }
        return self.consumption(of: request(parameter.value, .query), head, base, credentials, route, host, session)
    }

    /// Why a token in the query is not even tried; nil: it is.
    private static func objection(
        to parameter: HandoffParameter.Found,
        of head: RequestHead,
        _ base: Bytes,
        _ client: ClientSettings
    ) -> Reason? {
        if !client.takes(.query) { return .handoffMethodNotAllowed }
        if parameter.isRepeated { return .handoffRepeated }
        // Until the user has confirmed, another site's link must not sign them in (login CSRF).
        return Navigation.isCrossSite(head, base) ? .handoffCrossSite : nil
    }

    private func handoffRequest(
        _ token: Slice?,
        _ transport: HandoffTransport,
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ client: ClientSettings,
        _ host: HostEntry
    ) -> HandoffRequest {
        let userAgent = head.value(.userAgent, in: base).map { String(decoding: $0.prefix(512), as: UTF8.self) }
        return HandoffRequest(
            token: token.map { Array($0.bytes(in: base)) } ?? [],
            transport: transport,
            authority: host.publicURL.authority,
            client: client,
            device: DeviceFacts(address: self.facts.clientAddress ?? self.peer, asn: nil, userAgent: userAgent),
            existing: nil,
            attempt: credentials.cookies.attempt.flatMap { AttemptSecret($0.bytes(in: base)) } ?? AttemptSecret(),
            requestID: self.facts.requestID.text
        )
    }

    /// The consumption of one token, once it is known which session the browser has by its cookie.
    private func consumption(
        of request: HandoffRequest,
        _ head: RequestHead,
        _ base: Bytes,
        _ credentials: Credentials,
        _ route: RouteEntry,
        _ host: HostEntry,
        _ session: SessionState
    ) -> Step {
        self.facts.hasAttemptCookie = credentials.cookies.hasAttempt
        var request = request
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
                case .miss(let read): return .existing(read, request.attempt)
                case .otherKind, .otherKey, .malformed: break
                }
            }
        }
        if let found = existing, found.session.host != host.publicURL.authority { existing = nil }
        if let found = existing {
            let now = self.loop.sessionNow
            let binding = route.settings.liveBinding
            request.existing = (found.key, found.session)
            request.existingSuffices =
                Requirements.unmet(route.settings.require, found.session, now) == nil
                && (binding == .none || self.liveBindingMismatch(binding, found.session, head, base) == nil)
        }
        return .handoff(request, existing)
    }

    func beginHandoff(_ request: HandoffRequest, _ existing: CachedSession?) {
        guard let consumer = self.configuration.handoff else {
            return self.handoffFailed(.unavailable, request.attempt)
        }
        self.await(consumer.consume(request, on: self.loop.eventLoop)) { connection, result in
            connection.handoffEnded((try? result.get()) ?? .unavailable(.unavailable), request, existing)
        }
    }

    private func handoffEnded(_ outcome: HandoffOutcome, _ request: HandoffRequest, _ existing: CachedSession?) {
        guard let host = self.facts.host else { return }
        let cookie = self.configuration.sessionCookie(of: host)
        self.noteHandoff(outcome, request)
        var isSignedIn = false
        switch outcome {
        case .unavailable(let error):
            return self.handoffFailed(error, request.attempt)
        case .signedIn(let token, _, _):
            isSignedIn = true
            self.facts.note = nil
            self.addLine("Set-Cookie", cookie.setting(token))
        case .alreadySignedIn:
            break
        case .refused(let reason, let endsExisting):
            self.facts.note = reason
            if endsExisting {
                self.facts.ignoresSessionCookie = true
                self.addLine("Set-Cookie", cookie.clearing())
            }
        }
        if request.transport == .cookie { self.clearHandoffCookies() }
        if self.facts.hasAttemptCookie {
            self.addLine("Set-Cookie", self.configuration.attemptCookie(of: host).clearing())
        }
        self.facts.triedHandoffs.insert(request.transport)
        if request.transport == .cookie, !isSignedIn {
            // No redirect, or a cookie that our clearing does not reach would go round for ever. The request goes on
            // without this token: with the one in the query, or with the session that the browser has.
            return self.resumeJudging(self.facts.ignoresSessionCookie ? .unresolved : .existing(existing))
        }
        self.answerWithoutParameter()
    }

    /// Answers the request that waited by the redirect to its own URL without the parameter.
    private func answerWithoutParameter() {
        guard let head = self.waitingHead, let bytes = self.waitingBytes else { return }
        let answer = bytes.withUnsafeReadableBytes { bytes in
            bytes.baseAddress.map {
                self.withoutParameter(head, $0.assumingMemoryBound(to: UInt8.self), self.facts.note)
            }
        }
        self.answer(answer ?? .problem(400, .requestMalformed, closes: true))
        self.process()
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
            if let parameter = credentials.handoffParameter {
                guard self.facts.wantsPage else { return }
                // It may be the cookie's token that could not be tried, and the one in the query is one that never is. As a
                // moved token it would be tried with the next navigation, whoever made the link to this one.
                if let client = self.facts.route?.settings.client.flatMap(self.configuration.clients.client),
                    Self.objection(to: parameter, of: head, base, client) == nil, let token = parameter.value,
                    AttemptCookie.canHold(token.bytes(in: base))
                {
                    value = AttemptCookie.value(attempt, moving: token.bytes(in: base))
                }
                answer = self.withoutParameter(head, base, reason)
            } else if let token = credentials.movedToken {
                value = AttemptCookie.value(attempt, moving: token.bytes(in: base))
            }
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
        // Origin-form on our own origin: `//evil` in the path stays a path.
        return .redirect(
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

    func addLine(_ name: String, _ value: String) {
        let line = Array("\(name): \(value)\r\n".utf8)
        // The same request may be judged twice, before and after it waited.
        guard !self.facts.extraLines.contains(line) else { return }
        self.facts.extraLines.append(line)
    }
}
