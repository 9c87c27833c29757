package import Cryptography
import Sessions
import Settings
package import SignOn
import Vocabulary

/// `/authorize`: sends a signed-in user back to a client with a code (RFC 6749 4.1.1) or an id_token.
///
/// The user comes from a session-transfer token, otherwise from the browser's session, otherwise from a new sign-in. A
/// transfer token signs in for this request only: the browser gets no session.
package struct AuthorizationEndpoint: Sendable {
    package static let path = "/authorize"
    /// Returns whether a path and query lead to this endpoint.
    static func leadsHere(_ target: String) -> Bool { target.hasPrefix(self.path + "?") }

    /// The maximum time between a sign-in and the browser's return to this endpoint.
    private static let justNow = Duration.seconds(60)
    /// The maximum difference between the clocks of a provider and the gateway.
    private static let leeway = Duration.seconds(10)

    let clients: ClientRegistry
    let tokens: TokenService
    private let sessions: SessionService
    private let transfers: TransferSignIn
    let marks: SignInMarks
    let idTokens: IDTokenIssuer
    private let levels: AuthenticationLevels

    /// - Parameters:
    ///   - cookies: The cookies for session-transfer tokens.
    ///   - keys: The keys that seal `SignInMarks`.
    ///   - levels: The levels that clients may request.
    package init(
        clients: ClientRegistry,
        tokens: TokenService,
        sessions: SessionService,
        handoff: HandoffConsumer,
        cookies: HandoffCookies,
        keys: SealingKeyRing,
        idTokens: IDTokenIssuer,
        levels: AuthenticationLevels
    ) {
        self.clients = clients
        self.tokens = tokens
        self.sessions = sessions
        self.transfers = TransferSignIn(handoff: handoff, cookies: cookies, tokens: tokens, loops: sessions.loops)
        self.marks = SignInMarks(keys: keys)
        self.idTokens = idTokens
        self.levels = levels
    }

    package var endpoint: Endpoint {
        Endpoint(path: Self.path, methods: ["GET", "HEAD", "POST"], outlivesClient: true) { request in
            await self.answer(request)
        }
    }

    /// Answers a request. HEAD requests and prefetches get no code.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        guard request.method != "HEAD" else { return .noContent() }
        guard request.isNavigation else { return Self.page(.signInNotNavigation, request) }
        var parameters = request.query
        if request.method == "POST" {
            let type = (request.field("content-type") ?? "").lowercased()
            guard parameters.isEmpty, type.hasPrefix("application/x-www-form-urlencoded"),
                let form = FormText.strictPairs(request.body)
            else { return Self.page(.oauthInvalidRequest, request) }
            parameters = form.map { ($0.name, $0.value) }
        }
        do throws(AuthorizationRequest.Failure) {
            let mark = parameters.first { $0.name == SignInMarks.parameter }?.value
            parameters.removeAll { $0.name == SignInMarks.parameter }
            let arrival = try await self.arrival(parameters, mark)
            let wish = try AuthorizationRequest(
                arrival.parameters,
                clients: self.clients.snapshot,
                apis: self.tokens.apis,
                issuer: self.idTokens.issuer,
                pages: request.pages
            )
            return await self.answer(wish, arrival, request)
        } catch {
            switch error {
            case .page(let reason, let back): return Self.page(reason, request, back: back)
            case .redirect(let answer, let error): return answer.error(error)
            }
        }
    }

    private func answer(
        _ wish: AuthorizationRequest,
        _ arrival: Arrival,
        _ request: EndpointRequest
    ) async -> EndpointResponse {
        let requester = request.requester
        var transfer = TransferSignIn.Outcome()
        let wanted: String?
        do throws(OAuthError) {
            wanted = try await self.wantedUser(wish)
        } catch {
            return wish.answer.error(error)
        }
        let level = wish.demand(self.levels, among: self.tokens.realms)
        if level == .unreachable {
            return self.refuse(OAuthError(.requireAAL, .unmetAuthenticationRequirements), nil, wish, requester)
        }
        do throws(NotDone) {
            var demand = SignInDemand(
                isAgain: wish.prompt == .login,
                maxAge: wish.maxAge.map { .seconds($0) },
                loginHint: wish.loginHint,
                providers: wish.providers(among: self.tokens.realms)
            )
            do throws(NotDone) {
                transfer.existing = try await self.sessions.browser(requester)
            } catch {
                if error.isUnavailable { throw error }
                // The provider requires a second factor before it names the user.
                if error.reason == .requireAAL { demand.aal = .aal2 }
            }
            // `prompt=login` requires that the user is present. A token does not prove it.
            if wish.prompt != .login {
                transfer = await self.transfers.outcome(of: wish, request, requester, existing: transfer.existing)
            }
            if let failure = transfer.failure { throw NotDone(asking: failure) }
            // If the signed-in user is not the user that the client wants, a new sign-in is needed.
            let isOther = wanted != nil && transfer.isOther(than: wanted)
            demand.isAgain = demand.isAgain || transfer.demandsSignIn || isOther
            let isElsewhere = transfer.isElsewhere(than: demand.providers)
            var response: EndpointResponse
            var isAnswer = true
            if let denial = transfer.denial {
                response = wish.answer.error(denial)
            } else if isOther, wish.prompt == .none || arrival.begun != nil {
                response = self.refuse(OAuthError(.oauthOtherUser), transfer.existing, wish, requester)
            } else if isElsewhere, wish.prompt == .none || arrival.begun != nil {
                let error = OAuthError(.requireProvider, .loginRequired)
                response = self.refuse(error, transfer.existing, wish, requester)
            } else if !isOther, !isElsewhere, let user = self.user(wish, transfer, level, begun: arrival.begun) {
                let isSilent = transfer.user == nil && arrival.begun == nil
                if isSilent, !self.record(user, nil, wish, requester) { throw NotDone(.gatewayOverloaded) }
                response = try await self.answer(wish, to: user, isOfBrowser: transfer.user == nil, requester)
            } else if let existing = transfer.existing, existing.session.actor != nil {
                response = self.refuse(OAuthError(.handoffDelegationNotPermitted), existing, wish, requester)
            } else if let error = self.levelError(level, wish, transfer, begun: arrival.begun) {
                response = self.refuse(error, transfer.existing, wish, requester)
            } else if wish.prompt == .none {
                response = self.refuse(OAuthError(.credentialMissing), transfer.existing, wish, requester)
            } else {
                if case .some(let levels) = level {
                    demand.aal = max(demand.aal ?? levels[0], levels[0])
                    demand.providers = self.levels.reaching(levels[0], of: demand.providers)
                }
                response =
                    Self.asksApp(wish, transfer, request)
                    ? self.askApp(arrival.carried, request)
                    : self.signIn(arrival.carried, demand)
                isAnswer = false
            }
            // A pushed request gives one answer, even if the answer is an error (RFC 9126 4).
            if isAnswer, let pushed = arrival.pushed, !(try await self.tokens.use(pushed)) {
                response = Self.page(.oauthRequestUnknown, request, back: self.start(of: wish.wish.client))
            }
            response.fields += transfer.fields
            return response
        } catch {
            // A token that was tried may have been used up. The cookie lets this browser repeat the attempt.
            var response = wish.answer.error(OAuthError(.storeUnavailable))
            if let repeating = transfer.repeating { response.fields.append(repeating) }
            return response
        }
    }

    /// Answers the client with an error, and records the refusal.
    private func refuse(
        _ error: OAuthError,
        _ existing: FoundSession?,
        _ wish: AuthorizationRequest,
        _ requester: Requester
    ) -> EndpointResponse {
        let session = existing.map { NewSession(key: $0.key, session: $0.session) }
        _ = self.record(session, error.reason, wish, requester)
        return wish.answer.error(error)
    }

    /// Writes the audit record of an answer without sign-in, or of its refusal. Returns false if the answer requires
    /// the record and it cannot be written.
    private func record(
        _ session: NewSession?,
        _ refusal: Reason?,
        _ wish: AuthorizationRequest,
        _ requester: Requester
    ) -> Bool {
        let client = TokenRequester(client: wish.wish.client, sender: requester)
        return self.tokens.recordSilentAnswer(of: session, refusal: refusal, to: client, for: wish.wish.api)
    }

    /// Redirects to the sign-in page.
    ///
    /// - Parameter parameters: The parameters of the request (`Arrival.carried`).
    private func signIn(_ parameters: [(name: String, value: String)], _ demand: SignInDemand) -> EndpointResponse {
        let mark = self.marks.mark(parameters, now: self.tokens.clock.now())
        let target = Self.path + "?" + FormText.encoded(parameters + [(SignInMarks.parameter, mark)])
        return .seeOther(SignInPath.leading(to: target.utf8, demanding: demand))
    }

    /// Returns whether the app of a WebView should send another transfer token, without a sign-in page. False if there
    /// is a session, or if the client or a rule requires a sign-in.
    private static func asksApp(
        _ wish: AuthorizationRequest,
        _ transfer: TransferSignIn.Outcome,
        _ request: EndpointRequest
    ) -> Bool {
        request.announcesNativeApp && request.isTopLevelPageLoad && wish.wish.client.takesTokens
            && wish.prompt != .login
            && transfer.user == nil && transfer.existing == nil && !transfer.isSignInRuled
    }

    /// Challenges the native app to open this request again with another token.
    private func askApp(
        _ parameters: [(name: String, value: String)],
        _ request: EndpointRequest
    ) -> EndpointResponse {
        let target = Self.path + "?" + FormText.encoded(parameters)
        let challenge = NativeChallenge(realm: request.origin, target: target, without: Self.transferToken)
        var response = EndpointResponse.problem(
            .credentialMissing,
            requestID: request.requestID,
            loginURL: request.signInURL,
            fields: challenge.fields
        )
        response.native = challenge
        response.signIn = SignInPath.leading(to: target.utf8, demanding: SignInDemand())
        return response
    }

    private func answer(
        _ wish: AuthorizationRequest,
        to user: NewSession,
        isOfBrowser: Bool,
        _ requester: Requester
    ) async throws(NotDone) -> EndpointResponse {
        switch wish.response {
        case .code:
            let code = try await self.tokens.issueCode(
                wish.wish,
                to: user,
                isOfBrowser: isOfBrowser,
                cookie: user.key.kind == .foreignSession ? requester.providerCookies.first : nil
            )
            return wish.answer.code(code)
        case .idToken:
            guard let signer = await self.idTokens.signer() else { throw NotDone(.storeUnavailable) }
            try await self.tokens.note(wish.wish.client, gets: user.session, in: user)
            let token = await signer.token(
                of: user.session,
                clientID: wish.wish.client.clientID,
                scopes: wish.wish.scopes,
                nonce: wish.wish.nonce
            )
            return wish.answer.idToken(token)
        }
    }

    // MARK: The user

    /// Returns the id of the user whom the client wants. `nil` for any user.
    private func wantedUser(_ wish: AuthorizationRequest) async throws(OAuthError) -> String? {
        guard let hint = wish.idTokenHint else { return nil }
        return try await self.idTokens.subject(of: hint)
    }

    /// Returns the session with which to answer the client. `nil` if no session suffices.
    private func user(
        _ wish: AuthorizationRequest,
        _ transfer: TransferSignIn.Outcome,
        _ level: LevelDemand,
        begun: UnixTime?
    ) -> NewSession? {
        let isFinal = begun != nil || wish.prompt == .none
        if let user = transfer.user {
            let suffices = self.suffices(user.session, wish, begun: nil)
            return suffices && level.isMet(by: user.session.aal, isFinal: isFinal) ? user : nil
        }
        guard let existing = transfer.existing, !transfer.demandsSignIn,
            existing.session.actor == nil || wish.wish.client.delegation != nil,
            level.isMet(by: existing.session.aal, isFinal: isFinal),
            self.suffices(existing.session, wish, begun: begun, isProviders: existing.key.kind == .foreignSession)
        else { return nil }
        return NewSession(key: existing.key, session: existing.session)
    }

    /// Returns the error if the session does not reach the client's level and no sign-in can follow, otherwise `nil`.
    /// With a lower level, the client would only repeat its request (RFC 9470 4).
    private func levelError(
        _ level: LevelDemand,
        _ wish: AuthorizationRequest,
        _ transfer: TransferSignIn.Outcome,
        begun: UnixTime?
    ) -> OAuthError? {
        let session = transfer.user?.session ?? transfer.existing?.session
        if begun != nil {
            // A sign-in that does not reach the level starts no session.
            guard !level.isMet(by: session?.aal ?? .aal0, isFinal: true) else { return nil }
            return OAuthError(.requireAAL, .unmetAuthenticationRequirements)
        }
        guard wish.prompt == .none, let session, !level.isMet(by: session.aal, isFinal: true) else { return nil }
        return OAuthError(.requireAAL, .interactionRequired)
    }

    /// Returns whether the session is recent enough for the client.
    ///
    /// - Parameters:
    ///   - begun: The time when this request was sent to the sign-in page. `nil` if this did not happen.
    ///   - isProviders: Whether the session comes from a provider's cookie.
    private func suffices(
        _ session: Session,
        _ wish: AuthorizationRequest,
        begun: UnixTime?,
        isProviders: Bool = false
    ) -> Bool {
        let now = self.tokens.clock.now()
        // A provider's session keeps `issuedAt` after a new sign-in. Its times are by the provider's clock.
        let (signedIn, leeway) = isProviders ? (session.authenticatedAt, Self.leeway) : (session.issuedAt, .zero)
        // The sign-in must be recent: the page may be from the browser's history. A transfer is not a sign-in.
        let hasSignedIn =
            begun.map {
                session.origin != .transfer && signedIn.advanced(by: leeway) >= $0
                    && now.since(signedIn) <= Self.justNow + leeway
            } ?? false
        if wish.prompt == .login, !hasSignedIn { return false }
        guard let maxAge = wish.maxAge, !hasSignedIn else { return true }
        return now.since(session.authenticatedAt) <= .seconds(maxAge)
    }

    private static func page(_ reason: Reason, _ request: EndpointRequest, back: String? = nil) -> EndpointResponse {
        var response = EndpointResponse.problem(
            reason,
            requestID: request.requestID,
            fields: [("referrer-policy", "no-referrer")]
        )
        response.signIn = back
        return response
    }
}
