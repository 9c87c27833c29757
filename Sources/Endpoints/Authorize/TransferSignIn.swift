import NIOCore
import Sessions
import Settings
import SignOn
import Vocabulary

/// Signs users in by the session-transfer tokens of authorization requests.
///
/// As on routes, the cookie is tried first, then the query, each if the client takes tokens there. A token is tried once:
/// a cookie that was dealt with is cleared and marked, and a refused one leaves the rest of the request unchanged.
struct TransferSignIn: Sendable {
    let handoff: HandoffConsumer
    let cookies: HandoffCookies
    let tokens: TokenService
    let loops: any EventLoopGroup

    /// What became of a request's tokens.
    struct Outcome: Sendable {
        /// The session that a token made, for this request only.
        var user: NewSession?
        /// The browser's own session, if it has not ended.
        var existing: FoundSession?
        /// The `Set-Cookie` fields of an answer that the tokens do not have to be repeated for.
        var fields: [(name: String, value: String)] = []
        /// The `Set-Cookie` field by which the browser repeats the attempt; nil if no token was tried.
        var repeating: (name: String, value: String)?
        /// Whether the user has to sign in, whoever is signed in here: the client asked for the user of a token that is
        /// not accepted.
        var demandsSignIn = false
        /// Whether a rule demands it, so that no other token would help.
        var isSignInRuled = false
        /// The error by which the sign-in was denied.
        var denial: OAuthError?
        /// Why a token could not be judged.
        var failure: StoreError?

        /// Whether the user whom it signs in, else the one who is signed in, is another than the one with this id.
        func isOther(than userID: String?) -> Bool {
            let session = self.user?.session ?? self.existing?.session
            guard let session, let userID else { return session != nil }
            return !session.identity.id.isExactly(userID)
        }

        /// Whether that user signed in at a provider that is none of these; empty: any is one.
        func isElsewhere(than providers: [String]) -> Bool {
            guard !providers.isEmpty, let session = self.user?.session ?? self.existing?.session else { return false }
            return !providers.contains(session.identity.realm.name)
        }
    }

    /// Tries the tokens of a request.
    func outcome(
        of wish: AuthorizationRequest,
        _ request: EndpointRequest,
        _ requester: Requester,
        existing: FoundSession?
    ) async -> Outcome {
        var trial = Trial(client: wish.wish.client, request: request, requester: requester)
        trial.endsOtherUser = wish.prompt != .none && !request.isFromOtherOrigin
        trial.organization = wish.organization
        trial.outcome.existing = existing
        let goesOn = await self.tryCookies(&trial)
        if goesOn, let token = wish.transferToken {
            if request.isTopLevelPageLoad {
                _ = await self.attempt(token, .query, &trial)
            } else {
                // A frame, or a form that a page posts by itself, is no navigation of the user.
                trial.outcome.demandsSignIn = true
            }
        }
        return trial.outcome
    }

    /// The tokens of one request, while they are tried in turn.
    private struct Trial {
        let client: ClientSettings
        let request: EndpointRequest
        let requester: Requester
        var outcome = Outcome()
        /// Whether another user's session in the browser ends with a token.
        var endsOtherUser = true
        /// What the client asks for of the token's user; nil: nothing.
        var organization: String?
        /// The same for each token: a new secret, or the one that the browser sends again.
        let attempt: AttemptSecret

        init(client: ClientSettings, request: EndpointRequest, requester: Requester) {
            self.client = client
            self.request = request
            self.requester = requester
            let presented = request.credentials.handoff.attempt
            self.attempt = presented.flatMap { AttemptSecret($0.bytes) } ?? AttemptSecret()
        }
    }

    /// Deals with the cookies.
    ///
    /// - Returns: Whether the token in the query is tried as well.
    private func tryCookies(_ trial: inout Trial) async -> Bool {
        let presented = trial.request.credentials.handoff
        // Frames and posted forms, which a page can make without the user, leave the cookie as it is.
        guard trial.request.isTopLevelPageLoad, !presented.tokens.isEmpty else { return true }
        let marks = presented.marks.flatMap { $0.bytes.count <= HandoffConsumer.longestMarks ? $0.bytes : nil } ?? []
        let tokens = presented.tokens.filter { !self.handoff.isMarked($0.bytes, in: marks) }
        guard let token = tokens.first else { return true }
        let goesOn: Bool
        if tokens.count > 1 {
            self.turnAway(.handoffRepeated, .cookie, trial)
            goesOn = true
        } else {
            goesOn = await self.attempt(token, .cookie, &trial)
        }
        let cleared = self.cookies.clearing(
            on: trial.request.authority,
            trial.request.cookieReach,
            marking: self.handoff.marks(of: presented.tokens.map(\.bytes), besides: marks)
        )
        trial.outcome.fields += cleared.map { ("set-cookie", $0) }
        return goesOn
    }

    /// Tries a token.
    ///
    /// - Returns: Whether the next one is tried as well.
    private func attempt(_ token: Secret, _ transport: HandoffTransport, _ trial: inout Trial) async -> Bool {
        guard trial.client.takes(transport) else {
            self.turnAway(.handoffMethodNotAllowed, transport, trial)
            return true
        }
        let cookie = self.cookies.attempt(trial.request.cookieReach)
        trial.outcome.repeating = ("set-cookie", cookie.setting(trial.attempt.value))
        let outcome = await self.consume(self.request(token, transport, trial))
        if trial.request.credentials.handoff.attempt != nil {
            trial.outcome.fields.append(("set-cookie", cookie.clearing()))
        }
        switch outcome {
        case .signedIn(let token, let session, _):
            if let mark = self.handoff.accountMark(of: session) {
                let account = self.cookies.account(trial.request.cookieReach)
                trial.outcome.fields.append(("set-cookie", account.setting(mark)))
            }
            // No client gets the token of this session.
            trial.outcome.user = self.tokens.presented(session, by: token)
            return false
        case .alreadySignedIn, .renewed: return true
        case .unconfirmed:
            // No page asks here, so the user signs in.
            self.turnAway(.handoffOtherAccount, transport, trial)
            trial.outcome.demandsSignIn = true
            return false
        case .refused(let reason, let endsExisting):
            if endsExisting { trial.outcome.existing = nil }
            if reason == .ruleSignInRequired { trial.outcome.isSignInRuled = true }
            // A cookie may be stale, or planted by another site of the domain; a token that a rule judged is neither
            // spent nor forged.
            if transport == .query || reason == .handoffOtherUser || reason == .ruleSignInRequired {
                trial.outcome.demandsSignIn = true
            }
            // With another user's session nobody is signed in, whatever is in the query.
            return reason != .handoffOtherUser
        case .denied(let reason, let text):
            trial.outcome.denial =
                OAuthError(
                    reason == .ruleDenied ? NotDone(reason, text: text) : NotDone(.handoffDelegationNotPermitted)
                )
            return false
        case .unavailable(let error):
            trial.outcome.failure = error
            return false
        }
    }

    private func turnAway(_ reason: Reason, _ transport: HandoffTransport, _ trial: Trial) {
        self.handoff.turnAway(reason, self.request(nil, transport, trial))
    }

    private func request(_ token: Secret?, _ transport: HandoffTransport, _ trial: Trial) -> HandoffRequest {
        let requester = trial.requester
        var request = HandoffRequest(
            token: token?.bytes ?? [],
            transport: transport,
            authority: requester.authority,
            realms: self.tokens.realms,
            client: trial.client,
            device: DeviceFacts(address: requester.address, asn: nil, userAgent: requester.userAgent),
            existing: trial.outcome.existing.map { ($0.key, $0.session) },
            attempt: trial.attempt,
            requestID: requester.requestID
        )
        request.certificate = requester.certificate
        // The browser's own session is not touched, unless it is another user's.
        request.existingSuffices = false
        request.replacesExisting = false
        request.endsOtherUser = trial.endsOtherUser
        request.organization = trial.organization
        let marks = trial.request.credentials.companions.filter { $0.label == SessionSettings.accountCookieLabel }
        request.lastAccount = LastAccount.mark(Set(marks.map(\.value.bytes)))
        return request
    }

    private func consume(_ request: HandoffRequest) async -> HandoffOutcome {
        do {
            return try await self.handoff.consume(request, on: self.loops.any()).get()
        } catch {
            return .unavailable(.unavailable)
        }
    }
}
