import AddressIntelligence
import Endpoints
import Sessions
import Settings
import SignOn
import Vocabulary

/// Finds the session that a request presents, and decides whether it suffices for the route.
extension RequestJudge {
    /// Asks for the session that the request presents, or decides without one.
    ///
    /// - Parameter hasCookieEnded: Whether the cookie's session, of another user, was ended by a transfer token.
    mutating func askForSession(
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry,
        _ host: HostEntry,
        hasCookieEnded: Bool = false
    ) -> JudgeAction {
        self.findings.stage = .session
        var evidence = Evidence(
            missing: .credentialMissing,
            isExplicit: false,
            isCrossSite: false,
            bindingMismatch: nil,
            now: given.now
        )
        if !route.isPublic {
            switch self.credentials.presented {
            case .none:
                if self.credentials.cookies.sessionIsAmbiguous {
                    evidence.missing = .credentialAmbiguousCookie
                    self.auditAmbiguousCookies(head, base, given, host)
                }
            case .unusable(let reason):
                evidence.isExplicit = true
                evidence.missing = reason
            case .explicit(let token):
                return self.ask(.native, token)
            case .cookie where hasCookieEnded:
                evidence.missing = self.findings.note ?? .sessionUnknown
            case .cookie(let token):
                return self.ask(.web, token)
            case .providerCookie(let token):
                return self.ask(.web, token, isProviders: true)
            }
        }
        return self.decide(evidence, nil, head, base, given, route, host)
    }

    mutating func ask(_ kind: Session.Kind, _ token: Slice, isProviders: Bool = false) -> JudgeAction {
        self.state = .session
        return .ask(SessionQuestion(kind: kind, isProviders: isProviders, token: token, purpose: .request))
    }

    /// Decides with the session that was looked up.
    ///
    /// - Parameter isProven: Whether the proof for the session's token was accepted.
    mutating func decide(
        on answer: SessionAnswer,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry,
        _ host: HostEntry,
        isProven: Bool = false
    ) -> JudgeAction {
        let isAmbient = self.credentials.presented.isAmbient
        var isOwnCookie = false
        if case .cookie = self.credentials.presented { isOwnCookie = true }
        var evidence = Evidence(
            missing: .sessionUnknown,
            isExplicit: !isAmbient,
            isCrossSite: false,
            bindingMismatch: nil,
            now: given.now
        )
        switch answer {
        case .found(let session) where isOwnCookie && session.session.host != host.publicURL.authority:
            // A cookie is valid only on the host for which it was made (RFC 6265 8.6: cookies do not respect ports).
            evidence.missing = .sessionOtherHost
        case .found(let session) where session.session.identity.realm != host.realm:
            evidence.missing = .sessionOtherProvider
        case .found(let session):
            if session.isLimited || self.credentials.isProofScheme,
                let action = self.judgeLimits(of: session, isProven: isProven, head, base, given, route, host)
            {
                return action
            }
            if isAmbient {
                evidence.isCrossSite = CrossSite.isSuspect(
                    head,
                    base,
                    origin: host.origin,
                    trusted: route.trustedOrigins
                )
            }
            let binding = route.settings.liveBinding
            if route.bindsDevice, let mismatch = self.bindingMismatch(binding, session.session, given) {
                if route.settings.bindingAction == .log {
                    self.noteWouldReject(binding, mismatch, session, head, base, given)
                } else {
                    evidence.bindingMismatch = mismatch
                }
            }
            return self.decide(evidence, session, head, base, given, route, host)
        case .none: break
        case .insufficient(let demand):
            evidence.missing = .requireAAL
            if route.settings.auth == .required || !isAmbient {
                return .answer(
                    .demand(demand, head, base, route: route, host: host, configuration: given.configuration)
                )
            }
        case .refused(let reason):
            evidence.missing = reason.told
            if evidence.missing != reason { self.findings.absence = reason }
        case .otherKey: evidence.missing = .credentialOtherKey
        case .malformed: evidence.missing = .credentialMalformed
        }
        return self.decide(evidence, nil, head, base, given, route, host)
    }

    /// Judges a session that not every request may use.
    ///
    /// - Returns: The next action; nil if this request may.
    private mutating func judgeLimits(
        of session: CachedSession,
        isProven: Bool,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry,
        _ host: HostEntry
    ) -> JudgeAction? {
        if session.isStale, !head.knownMethod.isIdempotent {
            return .answer(self.refusal(.providerUnavailable, head, base, route))
        }
        let isBoundToUse = session.session.access != nil || session.session.keyThumbprint != nil
        guard isBoundToUse || self.credentials.isProofScheme, !isProven else { return nil }
        return self.judgeProof(for: session, head, base, given, route, host)
    }

    /// Compares the device that uses the session now with the one for which it was made; nil if they match.
    func bindingMismatch(_ mode: BindingMode, _ session: Session, _ given: JudgingContext) -> Reason? {
        guard let made = session.device else { return .bindingIPMismatch }
        let address = self.findings.clientAddress ?? given.peer
        let now = given.configuration.devices.facts(address: address, userAgent: nil)
        return BindingJudge.judge(mode, minted: made, presented: now)
    }

    private mutating func decide(
        _ evidence: Evidence,
        _ session: CachedSession?,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry,
        _ host: HostEntry
    ) -> JudgeAction {
        self.findings.stage = .decision
        switch Decision.judge(route, session, evidence) {
        case .permitted(let permit):
            return self.permit(permit, head, base, given)
        case .denied(let denial):
            self.audit(denial, of: session, head, base, given)
            if let session, route.settings.bindingAction == .endSession,
                let mismatch = evidence.bindingMismatch, denial == .unauthenticated(mismatch)
            {
                self.findings.events.append(.ends(session))
                if case .cookie = self.credentials.presented {
                    let cookie = given.configuration.sessionCookie(of: host)
                    self.findings.addLine("Set-Cookie", cookie.clearing())
                }
            }
            let answer = LocalAnswer.denial(
                denial,
                head,
                base,
                route: route,
                host: host,
                session: session?.session,
                isJudged: self.credentials.presented != .none,
                isProofScheme: self.credentials.isProofScheme,
                asksApp: !evidence.isExplicit && self.asksApp(denial, head, base, given, route, host),
                configuration: given.configuration,
                requestID: self.findings.requestID,
                now: given.now
            )
            return .answer(answer)
        }
    }

    /// Whether a native app can sign its user in by another transfer token: its WebView announces itself, the route's client
    /// takes tokens, and no rule has just demanded that the user signs in here.
    private func asksApp(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext,
        _ route: RouteEntry,
        _ host: HostEntry
    ) -> Bool {
        // A session that does not suffice for the route would be followed by another that does not.
        guard case .unauthenticated = denial, route.settings.handoff, self.findings.note != .ruleSignInRequired,
            let client = route.settings.client.flatMap(given.clients.client), client.takesTokens
        else { return false }
        return Navigation.announcesNativeApp(head, base, given.configuration.ownNames.cookies(of: host))
    }

    @inline(__always)
    private mutating func permit(
        _ permit: consuming Permit,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext
    ) -> JudgeAction {
        var identity: IdentityLines?
        if let session = permit.session {
            self.findings.session = session
            do throws(IdentityRefusal) {
                identity = try self.identity(of: session, on: permit.route, given)
            } catch {
                self.findings.unwritableField = error.field
                return .answer(.problem(error.reason, requestID: self.findings.requestID))
            }
        }
        if let lines = permit.route.crossOriginLines {
            self.findings.crossOriginLines = lines.lines(for: head.value(.origin, in: base))
        }
        return .permitted(permit, identity: identity)
    }
}
