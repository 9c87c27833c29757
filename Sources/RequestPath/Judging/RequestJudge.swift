import AddressIntelligence
package import Endpoints
package import JOSE
package import Sessions
import Settings
package import SignOn
package import Vocabulary

/// Judges one request up to its permit, without I/O. Each step returns an action, and continues with the action's
/// result.
///
/// ```
///   head ─▶ route ─▶ credentials ─┬────────────────────────────▶ session ─▶ decision ─▶ permitted
///                                 │                                 ▲
///                                 └─▶ existing ─▶ consuming ────────┘
///                                        ▲            │
///                                        └────────────┘  the token in the query, after the token in the cookie
/// ```
/// If a session's token is bound to a key, its proof is redeemed (`redeeming`), and the session is looked up again
/// (`proven`). Every step may end with an answer instead.
///
/// The judge reads no clock. Of the head it keeps slices only, because the driver lends the bytes to each step. Random
/// values are created only for handoffs.
package struct RequestJudge {
    /// The results so far. The driver applies and logs them, and uses them to forward the request.
    package var findings: JudgeFindings
    /// The credentials of the request. Empty until the route is known.
    package internal(set) var credentials = Credentials()
    var state = State.head

    /// The step that the judge has reached.
    enum State {
        /// The head has not been judged yet.
        case head
        /// The session that the request presents is being looked up.
        case session
        /// The browser's session is being looked up, before a transfer token is consumed.
        case existing(HandoffTrial)
        /// A transfer token is being consumed.
        case consuming(HandoffTrial)
        /// The proof for this session's token is being redeemed.
        case redeeming(CachedSession)
        /// The proof was accepted. The session is being looked up again, because it may have ended in the meantime.
        case proven
        /// The last action was returned.
        case ended
    }

    /// - Parameter requestID: The gateway's own id.
    package init(requestID: RequestID) {
        self.findings = JudgeFindings(requestID: requestID)
    }

    /// Returns the client's address as reported by trusted peers, otherwise the peer's address.
    func address(_ given: borrowing RoutedRequest) -> IPAddress { self.findings.clientAddress ?? given.peer }

    // MARK: Events

    /// Judges the head.
    package mutating func begin(_ given: JudgingContext) -> JudgeAction {
        guard case .head = self.state else { preconditionFailure("a request was begun twice") }
        self.state = .ended
        if let end = self.chooseRoute(given) { return end }
        return self.onRoute(given) { $0.judgeCredentials($1) }
    }

    /// Reads the credentials and requests the session that they present.
    private mutating func judgeCredentials(_ given: borrowing RoutedRequest) -> JudgeAction {
        if let limit = given.route.maxBody, case .length(let length) = given.head.framing,
            length > limit
        {
            return .answer(.problem(.requestBodyTooLarge, requestID: self.findings.requestID))
        }
        // Of all checks, only ext_authz gets the answer to a preflight. Other proxies would take it as permission, or
        // drop it.
        if self.findings.dialect == nil || self.findings.dialect == .extAuthz,
            let cors = given.route.preflight(given.head), let origin = given.value(.origin)
        {
            return .answer(CrossOrigin.preflight(cors, from: origin, self.findings.requestID))
        }
        self.findings.stage = .credentials
        if given.head.hasSeveralCookies, !given.head.findOwnCookies(given.cookies, in: given.base) {
            return .answer(self.refusal(.credentialRepeated, given))
        }
        switch Credentials.read(
            given.head,
            given.base,
            route: given.route,
            cookies: given.cookies,
            parameter: given.configuration.ownNames.parameter
        ) {
        case .success(let read): self.credentials = read
        case .failure(let reason):
            return .answer(self.refusal(reason, given))
        }
        if given.head.line(.earlyData) != nil, self.mustNotBeEarly(given) {
            return .answer(self.refusal(.requestEarlyData, given))
        }
        if self.credentials.cookies.session.isAmbiguous { self.clearSessionCookies(given) }
        if given.route.settings.handoff, self.credentials.hasTransferToken, let action = self.beginHandoff(given) {
            return action
        }
        return self.askForSession(given)
    }

    /// Returns whether a replay of the request could change something or use up a transfer token. Early data can be
    /// replayed (RFC 8470 2.1).
    private func mustNotBeEarly(_ given: borrowing RoutedRequest) -> Bool {
        !given.head.knownMethod.isSafe || given.head.isWebSocketUpgrade || self.findings.asker.contains(.hidesMethod)
            || self.credentials.hasTransferToken
    }

    /// Continues with the result of looking up a session.
    package mutating func sessionFound(_ answer: SessionAnswer, _ given: JudgingContext) -> JudgeAction {
        self.onRoute(given) { $0.judge(answer, $1) }
    }

    private mutating func judge(_ answer: SessionAnswer, _ given: borrowing RoutedRequest) -> JudgeAction {
        switch self.state {
        case .session:
            if case .cookie = self.credentials.presented, let cookie = self.credentials.cookies.provider.value,
                !answer.isUsable(on: given.host)
            {
                // The gateway's own cookie has no usable session here, but the browser also has the provider's cookie.
                self.credentials.presented = .providerCookie(cookie)
                return self.ask(.web, cookie, isProviders: true)
            }
            self.state = .ended
            return self.decide(on: answer, given)
        case .proven:
            self.state = .ended
            return self.decide(on: answer, given, isProven: true)
        case .existing(let trial):
            return self.existingFound(answer, trial, given)
        case .head, .consuming, .redeeming, .ended:
            preconditionFailure("a session was found that was not requested")
        }
    }

    /// Continues after a store or provider was unavailable.
    ///
    /// - Parameter reason: The reason for the refusal: the store or a provider is unavailable.
    package mutating func unavailable(_ error: StoreError, _ reason: Reason, _ given: JudgingContext) -> JudgeAction {
        let state = self.state
        self.state = .ended
        switch state {
        case .session, .redeeming, .proven:
            return .answer(.problem(reason, requestID: self.findings.requestID))
        case .existing(let trial), .consuming(let trial):
            defer { self.leaveRoute() }
            return self.onRoute(given) { .answer($0.postpone(trial, error, reason, $1)) }
        case .head, .ended:
            preconditionFailure("the store was reported unavailable but was not asked")
        }
    }

    /// Returns a refusal with the route's CORS fields.
    ///
    /// - Parameters:
    ///   - explanation: The operator's explanation for the user. `nil` for the text of the reason.
    ///   - fields: Additional fields of the answer.
    func refusal(
        _ reason: Reason,
        explanation: String? = nil,
        _ given: borrowing RoutedRequest,
        fields: [(name: String, value: String)] = []
    ) -> LocalAnswer {
        let answer = LocalAnswer.problem(
            reason,
            explanation: explanation,
            requestID: self.findings.requestID,
            fields: fields
        )
        return CrossOrigin.readable(answer, given)
    }
}

/// The next action of the driver.
package enum JudgeAction: ~Copyable {
    /// Look up a session, then call `sessionFound` or `unavailable`.
    case ask(SessionQuestion)
    /// Consume the transfer token, then call `handoffEnded` or `unavailable`.
    case consume(OutOfLine<HandoffRequest>)
    /// Redeem the proof, then call `proofRedeemed` or `unavailable`.
    case redeem(OutOfLine<DPoPProof>)
    /// Read the body, then let the endpoint answer.
    case collect(OutOfLine<EndpointCall>)
    /// Forward the request with these identity lines. `nil` if there are none.
    case permitted(Permit, identity: IdentityLines?)
    case answer(LocalAnswer)
}

/// A request to one of the gateway's endpoints, before its body has been read.
package struct EndpointCall: Sendable {
    package let endpoint: Endpoint
    package let request: EndpointRequest
}

/// A session to look up: in the loop's cache, then in the store or at the provider.
package struct SessionQuestion {
    /// The purpose of the look-up.
    package enum Purpose: Sendable {
        /// The request presents the session.
        case request
        /// The browser has the session and presents a transfer token.
        case handoff
        /// The request presents the session, and its proof was accepted.
        case proof
    }

    package let kind: Session.Kind
    /// True if `token` is the provider's own cookie instead of a token of the gateway.
    package var isProviders = false
    /// The bytes of the token, not validated yet.
    package let token: Slice
    package let purpose: Purpose
}

/// The result of looking up a session.
package enum SessionAnswer {
    /// A live session of the requested kind.
    case found(CachedSession)
    /// No live session of the requested kind.
    case none
    /// The token is rejected for this reason.
    case refused(Reason)
    /// The provider demands more of its user, such as a second factor.
    indirect case insufficient(ProviderDemand)
    /// The token was made with a secret that this gateway does not accept.
    case otherKey
    /// The token does not have the syntax of this gateway's tokens.
    case malformed

    /// Returns whether the answer is a session that the gateway's own cookie can present on this host.
    func isUsable(on host: HostEntry) -> Bool {
        guard case .found(let session) = self else { return false }
        return session.session.host == host.publicURL.authority && host.isFor(session)
    }
}
