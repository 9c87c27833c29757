import AddressIntelligence
import Cryptography
import Endpoints
import Sessions
import Settings
import SignOn
import Vocabulary

/// Finds the session that a request presents, and decides whether it suffices for the route.
extension RequestJudge {
    /// Asks for the session that the request presents, or decides without a session.
    ///
    /// - Parameter hasCookieEnded: True if a transfer token of another user has just ended the cookie's session.
    mutating func askForSession(_ given: borrowing RoutedRequest, hasCookieEnded: Bool = false) -> JudgeAction {
        self.findings.stage = .session
        var evidence = Evidence(missing: .credentialMissing, certificate: self.findings.certificate, now: given.now)
        if !given.route.isPublic {
            switch self.credentials.presented {
            case .none:
                if self.credentials.cookies.session.isAmbiguous {
                    evidence.missing = .credentialAmbiguousCookie
                    self.auditAmbiguousCookies(given)
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
        return self.decide(evidence, nil, given)
    }

    mutating func ask(_ kind: Session.Kind, _ token: Slice, isProviders: Bool = false) -> JudgeAction {
        self.state = .session
        return .ask(SessionQuestion(kind: kind, isProviders: isProviders, token: token, purpose: .request))
    }

    /// Decides with the session that was looked up.
    ///
    /// - Parameter isProven: True if the DPoP proof for the session's token was accepted.
    mutating func decide(on answer: SessionAnswer, _ given: borrowing RoutedRequest, isProven: Bool = false)
        -> JudgeAction
    {
        let isAmbient = self.credentials.presented.isAmbient
        var isOwnCookie = false
        if case .cookie = self.credentials.presented { isOwnCookie = true }
        var evidence = Evidence(
            missing: .sessionUnknown,
            isExplicit: !isAmbient,
            certificate: self.findings.certificate,
            now: given.now
        )
        switch answer {
        case .found(let session) where isOwnCookie && session.session.host != given.host.publicURL.authority:
            // A cookie is valid only on the host for which it was made. Browsers ignore ports (RFC 6265 8.5).
            evidence.missing = .sessionOtherHost
        case .found(let session) where !given.host.isFor(session):
            evidence.missing = .sessionOtherProvider
        case .found(let session):
            if session.isLimited || self.credentials.isProofScheme,
                let action = self.judgeLimits(of: session, isProven: isProven, given)
            {
                return action
            }
            if isAmbient {
                evidence.isCrossSite = CrossSite.isSuspect(
                    given.head,
                    given.base,
                    isMethodKnown: !self.findings.asker.contains(.hidesMethod),
                    origin: given.host.origin,
                    trusted: given.route.trustedOrigins
                )
            }
            let binding = given.route.settings.liveBinding
            if given.route.bindsDevice, let mismatch = self.bindingMismatch(binding, session.session, given) {
                if given.route.settings.bindingAction == .log {
                    self.noteWouldReject(binding, mismatch, session, given)
                } else {
                    evidence.bindingMismatch = mismatch
                }
            }
            return self.decide(evidence, session, given)
        case .none: break
        case .insufficient(let demand):
            evidence.missing = .requireAAL
            if given.route.settings.auth == .required || !isAmbient {
                return .answer(self.answer(demanding: demand, given))
            }
        case .refused(let reason):
            evidence.missing = reason.told
            if evidence.missing != reason { self.findings.absence = reason }
        case .otherKey: evidence.missing = .credentialOtherKey
        case .malformed: evidence.missing = .credentialMalformed
        }
        return self.decide(evidence, nil, given)
    }

    /// Checks whether this request may use a session that is stale or bound to a certificate, a key or an API.
    ///
    /// - Returns: The next action. `nil` if this request may use the session.
    private mutating func judgeLimits(of session: CachedSession, isProven: Bool, _ given: borrowing RoutedRequest)
        -> JudgeAction?
    {
        if session.isStale, !given.head.knownMethod.isIdempotent {
            return .answer(self.refusal(.providerUnavailable, given))
        }
        if let hash = session.session.certificateHash, self.findings.certificate?.sha256 != hash {
            let denial = Denial.unauthenticated(.credentialBoundToCertificate)
            self.findings.stage = .decision
            self.audit(denial, of: session, given)
            return .answer(self.answer(to: denial, of: session.session, asksApp: false, given))
        }
        let isBoundToUse = session.session.access != nil || session.session.keyThumbprint != nil
        guard isBoundToUse || self.credentials.isProofScheme, !isProven else { return nil }
        return self.judgeProof(for: session, given)
    }

    /// Returns the reason why the presenting device does not match the session's own device. `nil` if they match.
    func bindingMismatch(_ mode: BindingMode, _ session: Session, _ given: borrowing RoutedRequest) -> Reason? {
        guard let made = session.device else { return .bindingIPMismatch }
        let now = given.judging.devices.facts(address: self.address(given), userAgent: nil)
        return BindingJudge.judge(mode, minted: made, presented: now)
    }

    private mutating func decide(_ evidence: Evidence, _ session: CachedSession?, _ given: borrowing RoutedRequest)
        -> JudgeAction
    {
        self.findings.stage = .decision
        switch Decision.judge(given.route, session, evidence) {
        case .permitted(let permit):
            var identity: IdentityLines?
            do throws(IdentityRefusal) {
                if let session = permit.session {
                    self.findings.session = session
                    identity = try self.identity(of: session, given)
                }
                if let certificate = self.findings.certificate {
                    identity = try Self.adding(certificate, to: identity, given)
                }
            } catch {
                self.findings.unwritableField = error.field
                return .answer(.problem(error.reason, requestID: self.findings.requestID))
            }
            if let lines = given.route.crossOriginLines {
                self.findings.crossOriginLines = lines.lines(for: given.value(.origin))
            }
            return .permitted(permit, identity: identity)
        case .denied(let denial):
            self.audit(denial, of: session, given)
            if let session, given.route.settings.bindingAction == .endSession,
                let mismatch = evidence.bindingMismatch, denial == .unauthenticated(mismatch)
            {
                self.findings.events.append(.ends(session))
                if case .cookie = self.credentials.presented {
                    let cookie = given.configuration.sessionCookie(of: given.host)
                    self.findings.addLine("Set-Cookie", cookie.clearing())
                }
            }
            let asksApp = !evidence.isExplicit && self.asksApp(denial, given)
            return .answer(self.answer(to: denial, of: session?.session, asksApp: asksApp, given))
        }
    }

    /// Returns whether the answer may ask a native app for a transfer token. The WebView must announce itself, and the
    /// route's client must accept tokens.
    private func asksApp(_ denial: Denial, _ given: borrowing RoutedRequest) -> Bool {
        // nginx passes on a challenge only with status 401.
        if case .forbidden = denial, self.findings.dialect == .authRequest { return false }
        guard given.route.settings.handoff, self.findings.note != .ruleSignInRequired,
            let client = given.client, client.takesTokens
        else { return false }
        return Navigation.announcesNativeApp(given.head, given.base, given.cookies)
    }
}
