package import Clients
package import Cryptography
package import Endpoints
package import Handoff
package import NIOCore
package import OAuth
internal import Sessions
internal import Settings
package import SignIn
internal import Vocabulary

/// `/authorize`: sends a signed-in user back to a client with a code (RFC 6749 4.1.1).
///
/// The user is whom a session-transfer token names, else the one who is signed in here, else the one who signs in now.
/// With a transfer token, only this request is signed in: the browser gets no session of this gateway. An older session
/// of another user never wins (`HandoffCase.judged`).
package struct AuthorizationEndpoint: Sendable {
    package static let path = "/authorize"

    private let clients: ClientRegistry
    private let tokens: TokenService
    private let sessions: SessionService
    private let handoff: HandoffConsumer
    private let marks: SignInMarks
    private let loops: any EventLoopGroup
    private let idTokens: IDTokenIssuer

    /// - Parameter keys: Seal what comes back from the sign-in page.
    package init(
        clients: ClientRegistry,
        tokens: TokenService,
        sessions: SessionService,
        handoff: HandoffConsumer,
        keys: SealingKeyRing,
        loops: any EventLoopGroup,
        idTokens: IDTokenIssuer
    ) {
        self.clients = clients
        self.tokens = tokens
        self.sessions = sessions
        self.handoff = handoff
        self.marks = SignInMarks(keys)
        self.loops = loops
        self.idTokens = idTokens
    }

    package var endpoint: Endpoint {
        Endpoint(path: Self.path, methods: ["GET", "HEAD", "POST"], outlivesClient: true) { request in
            await self.answer(request)
        }
    }

    /// HEAD and prefetches begin nothing: a code is for the page load of a user.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        guard request.method != "HEAD" else { return .noContent() }
        var parameters = request.query
        if request.method == "POST" {
            guard parameters.isEmpty, let form = FormText.strictPairs(request.body) else {
                return Self.page(.oauthInvalidRequest, request)
            }
            parameters = form.map { ($0.name, $0.value) }
        } else if !request.isPageLoad {
            return Self.page(.signInNotNavigation, request)
        }
        do throws(AuthorizationRequest.Failure) {
            let mark = parameters.first { $0.name == SignInMarks.parameter }?.value
            parameters.removeAll { $0.name == SignInMarks.parameter }
            let wish = try AuthorizationRequest(
                parameters,
                clients: self.clients.snapshot,
                apis: self.tokens.apis,
                issuer: self.idTokens.issuer
            )
            let begun = mark.flatMap { self.marks.time(in: $0, of: parameters, now: self.tokens.clock.now()) }
            return try await self.answer(wish, parameters, begun: begun, request)
        } catch {
            switch error {
            case .page(let reason): return Self.page(reason, request)
            case .redirect(let answer, let error): return answer.error(error)
            }
        }
    }

    /// - Parameter begun: When this browser was sent to the sign-in page for this request; nil: it was not.
    private func answer(
        _ wish: AuthorizationRequest,
        _ parameters: [(name: String, value: String)],
        begun: UnixTime?,
        _ request: EndpointRequest
    ) async throws(AuthorizationRequest.Failure) -> EndpointResponse {
        let requester = Requester(
            address: request.address,
            userAgent: request.field("user-agent"),
            authority: request.authority,
            requestID: request.requestID,
            cookies: request.credentials.sessionCookies
        )
        do {
            if let user = try await self.user(wish, requester, begun: begun) {
                return try await self.answer(wish, to: user)
            }
        } catch {
            throw .redirect(wish.answer, AuthorizationError(.temporarilyUnavailable))
        }
        if wish.prompt == .none { throw .redirect(wish.answer, AuthorizationError(.loginRequired)) }
        // The transfer token is not tried again.
        let rest = parameters.filter { $0.name != "session_transfer_token" }
        let mark = self.marks.mark(rest, now: self.tokens.clock.now())
        let target = Self.path + "?" + FormText.encoded(rest + [(SignInMarks.parameter, mark)])
        let demand = SignInDemand(isAgain: wish.prompt == .login, maxAge: wish.maxAge.map { .seconds($0) })
        return .seeOther(SignInPath.leading(to: target.utf8, demanding: demand))
    }

    private func answer(_ wish: AuthorizationRequest, to user: NewSession) async throws(StoreError) -> EndpointResponse
    {
        switch wish.response {
        case .code:
            return wish.answer.code(try await self.tokens.issueCode(wish.wish, to: user))
        case .idToken:
            guard let signer = await self.idTokens.signer() else { throw .unavailable }
            let token = signer.token(
                of: user.session,
                clientID: wish.wish.client.clientID,
                scopes: wish.wish.scopes,
                nonce: wish.wish.nonce
            )
            return wish.answer.idToken(token)
        }
    }

    // MARK: The user

    /// The session of the user who is to be sent back; nil: the user has to sign in.
    private func user(
        _ wish: AuthorizationRequest,
        _ requester: Requester,
        begun: UnixTime?
    ) async throws(StoreError) -> NewSession? {
        var existing: FoundSession?
        if case .session(let found) = try await self.sessions.web(requester) { existing = found }
        if let token = wish.transferToken, wish.wish.client.takes(.query) {
            switch await self.consume(token, wish, requester, existing) {
            case .signedIn(let token, let session, _):
                // No client gets the token of this session.
                return self.tokens.presented(session, by: token)
            case .alreadySignedIn: break
            case .refused(_, let endsExisting): if endsExisting { existing = nil }
            case .unavailable(let error): throw error
            }
        }
        guard let existing, self.suffices(existing.session, wish, begun: begun) else { return nil }
        return NewSession(key: existing.key, session: existing.session)
    }

    private func suffices(_ session: Session, _ wish: AuthorizationRequest, begun: UnixTime?) -> Bool {
        let hasSignedIn = begun.map { session.issuedAt >= $0 } ?? false
        if wish.prompt == .login, !hasSignedIn { return false }
        guard let maxAge = wish.maxAge, !hasSignedIn else { return true }
        return self.tokens.clock.now().since(session.authenticatedAt) <= .seconds(maxAge)
    }

    private func consume(
        _ token: Secret,
        _ wish: AuthorizationRequest,
        _ requester: Requester,
        _ existing: FoundSession?
    ) async -> HandoffOutcome {
        var handoff = HandoffRequest(
            token: token.bytes,
            transport: .query,
            authority: requester.authority,
            client: wish.wish.client,
            device: DeviceFacts(address: requester.address, asn: nil, userAgent: requester.userAgent),
            existing: existing.map { ($0.key, $0.session) },
            attempt: AttemptSecret(),
            requestID: requester.requestID
        )
        // The browser's own session is not touched, unless it is another user's.
        handoff.existingSuffices = false
        handoff.replacesExisting = false
        let loop = self.loops.next()
        do {
            return try await self.handoff.consume(handoff, on: loop).get()
        } catch {
            return .unavailable(.unavailable)
        }
    }

    private static func page(_ reason: Reason, _ request: EndpointRequest) -> EndpointResponse {
        EndpointResponse.problem(
            reason,
            requestID: request.requestID,
            fields: [("referrer-policy", "no-referrer")]
        )
    }
}

/// Marks by which an authorization request that comes back from the sign-in page is recognised, so that a user who was
/// asked to sign in again is asked once.
struct SignInMarks: Sendable {
    /// The query parameter.
    static let parameter = "sallyport_signed_in"
    private static let lifetime = Duration.seconds(3600)

    private let keys: SealingKeyRing

    init(_ keys: SealingKeyRing) {
        self.keys = keys
    }

    /// A mark of the present time, which holds for these parameters only.
    func mark(_ parameters: [(name: String, value: String)], now: UnixTime) -> String {
        var writer = CompactWriter()
        writer.write(now.milliseconds)
        return Base64URL.encode(self.keys.seal(writer.bytes, for: Self.place(parameters)))
    }

    /// The time of a mark; nil if it is none of this deployment, for other parameters, or too old.
    func time(in mark: String, of parameters: [(name: String, value: String)], now: UnixTime) -> UnixTime? {
        guard let sealed = Base64URL.decode(mark), let bytes = try? self.keys.open(sealed, for: Self.place(parameters))
        else { return nil }
        var reader = CompactReader(bytes)
        guard let milliseconds = try? reader.signed() else { return nil }
        let time = UnixTime(milliseconds: milliseconds)
        return now.since(time) <= Self.lifetime ? time : nil
    }

    /// No record has such a place: their keys begin with `sp:`.
    private static func place(_ parameters: [(name: String, value: String)]) -> [UInt8] {
        Array("authorize ".utf8) + SHA256.digest(Array(FormText.encoded(parameters).utf8)).bytes
    }
}
