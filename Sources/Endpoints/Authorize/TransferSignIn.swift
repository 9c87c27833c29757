import NIOCore
import Sessions
import Settings
import SignOn
import Vocabulary

/// Signs users in with the session-transfer tokens of authorization requests.
///
/// The token in the cookie is tried before the token in the query. The client must accept the token's transport. A
/// refused token does not end the request.
struct TransferSignIn: Sendable {
    let handoff: HandoffConsumer
    let cookies: HandoffCookies
    let tokens: TokenService
    let loops: any EventLoopGroup

    /// The result of a request's tokens.
    struct Outcome: Sendable {
        /// The session that a token started, for this request only. `nil` if no token was accepted.
        var user: NewSession?
        /// The browser's own session. `nil` if there is no session or it has ended.
        var existing: FoundSession?
        /// The `Set-Cookie` fields of the answer. Not sent together with `repeating`.
        var fields: [(name: String, value: String)] = []
        /// The `Set-Cookie` field that lets the browser repeat the attempt. `nil` if no token was tried.
        var repeating: (name: String, value: String)?
        /// Whether the user has to sign in despite a session, because a token was not accepted.
        var demandsSignIn = false
        /// Whether a rule requires the sign-in. Another token would not help.
        var isSignInRuled = false
        /// The error of a denied sign-in. `nil` if no sign-in was denied.
        var denial: OAuthError?
        /// The store's error while a token was tried. `nil` if the store answered.
        var failure: StoreError?

        /// Returns whether the token's user, otherwise the signed-in user, has another id. False if there is no user.
        func isOther(than userID: String?) -> Bool {
            let session = self.user?.session ?? self.existing?.session
            guard let session, let userID else { return session != nil }
            return !session.identity.id.isExactly(userID)
        }

        /// Returns whether the user signed in at a provider that is not in `providers`. False if `providers` is empty.
        func isElsewhere(than providers: [String]) -> Bool {
            guard !providers.isEmpty, let session = self.user?.session ?? self.existing?.session else { return false }
            return !providers.contains(session.identity.realm.name)
        }
    }

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
                // A page can open frames and post forms without the user.
                trial.outcome.demandsSignIn = true
            }
        }
        return trial.outcome
    }

    /// The state of one request while its tokens are tried in turn.
    private struct Trial {
        let client: ClientSettings
        let request: EndpointRequest
        let requester: Requester
        var outcome = Outcome()
        /// Whether a token of another user ends the browser's session.
        var endsOtherUser = true
        /// The organization that the client requires of the token's user. `nil` for any user.
        var organization: String?
        /// The secret of the attempts: the browser's secret if it repeats an attempt, otherwise a new one.
        let attempt: AttemptSecret

        init(client: ClientSettings, request: EndpointRequest, requester: Requester) {
            self.client = client
            self.request = request
            self.requester = requester
            let presented = request.credentials.handoff.attempt
            self.attempt = presented.flatMap { AttemptSecret($0.bytes) } ?? AttemptSecret()
        }
    }

    /// Tries the token in the cookies and clears them.
    ///
    /// - Returns: Whether the token in the query should be tried as well.
    private func tryCookies(_ trial: inout Trial) async -> Bool {
        let presented = trial.request.credentials.handoff
        // A page can open frames and post forms without the user. These requests leave the cookie unchanged.
        guard trial.request.isTopLevelPageLoad, !presented.tokens.isEmpty else { return true }
        let marks = presented.marks.flatMap { $0.bytes.count <= HandoffConsumer.longestMarks ? $0.bytes : nil } ?? []
        let tokens = presented.tokens.filter { !self.handoff.isMarked($0.bytes, in: marks) }
        guard let token = tokens.first else { return true }
        let goesOn: Bool
        if tokens.count > 1 {
            self.recordRejection(.handoffRepeated, .cookie, trial)
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
    /// - Returns: Whether the next token should be tried as well.
    private func attempt(_ token: Secret, _ transport: HandoffTransport, _ trial: inout Trial) async -> Bool {
        guard trial.client.takes(transport) else {
            self.recordRejection(.handoffMethodNotAllowed, transport, trial)
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
            // No client receives this session's token.
            trial.outcome.user = self.tokens.presented(session, by: token)
            return false
        case .alreadySignedIn, .renewed: return true
        case .unconfirmed:
            // There is no confirmation page here, so the user signs in.
            self.recordRejection(.handoffOtherAccount, transport, trial)
            trial.outcome.demandsSignIn = true
            return false
        case .refused(let reason, let endsExisting):
            if endsExisting { trial.outcome.existing = nil }
            if reason == .ruleSignInRequired { trial.outcome.isSignInRuled = true }
            // A cookie that is refused for another reason may be stale or planted by a sibling domain.
            if transport == .query || reason == .handoffOtherUser || reason == .ruleSignInRequired {
                trial.outcome.demandsSignIn = true
            }
            // If the browser has another user's session, the token in the query is not tried.
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

    private func recordRejection(_ reason: Reason, _ transport: HandoffTransport, _ trial: Trial) {
        self.handoff.recordRejection(reason, self.request(nil, transport, trial))
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
        // The browser's own session is kept, unless `endsOtherUser` ends another user's session.
        request.mayKeepSession = false
        request.replacesExisting = false
        request.endsOtherUser = trial.endsOtherUser
        request.organization = trial.organization
        let marks = trial.request.credentials.companions.filter { $0.label == SessionSettings.accountCookieLabel }
        request.lastAccount = LastAccount.mark(Set(marks.map(\.value.bytes)))
        return request
    }

    private func consume(_ request: HandoffRequest) async -> HandoffOutcome {
        do {
            return try await self.handoff.consume(request, on: self.loops.any()).get().outcome
        } catch {
            return .unavailable(.unavailable)
        }
    }
}
