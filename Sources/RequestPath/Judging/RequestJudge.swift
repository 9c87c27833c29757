import AddressIntelligence
package import Endpoints
package import JOSE
package import Sessions
import Settings
package import SignOn
package import Vocabulary

/// Judges one request up to its permit, without I/O: it returns what is needed next and continues with the result.
///
/// ```
///   head ─▶ route ─▶ credentials ─┬────────────────────────────▶ session ─▶ decision ─▶ permitted
///                                 │                                 ▲
///                                 └─▶ existing ─▶ consuming ────────┘
///                                        ▲            │
///                                        └────────────┘  the token in the query, after the one in the cookie
/// ```
/// A session whose token is bound to a key also waits for its proof (`redeeming`), and is then looked up again (`proven`).
/// Every step may end with an answer instead. In `session`, `existing`, `consuming`, `redeeming` and `proven` the request
/// waits for its driver. The route is frozen before a credential is looked at, and credentials are read once.
///
/// The head and its bytes are lent to each step; the judge keeps only slices. It reads no clock, does no I/O and emits
/// nothing: time, peer and configuration are given (`JudgingContext`), and what is to be recorded is in `findings`. The
/// only random values that it makes are for handoffs: the secret of a first attempt, and the seal of a link.
package struct RequestJudge {
    /// The results so far, which the driver applies, logs and forwards with.
    package var findings: JudgeFindings
    /// Read once the route is known; empty before.
    package internal(set) var credentials = Credentials()
    var state = State.head

    /// What the judge waits for.
    enum State {
        /// The head has not been judged yet.
        case head
        /// The session that the request presents is being looked up.
        case session
        /// The browser's session is being looked up, before its transfer token is consumed.
        case existing(HandoffTrial)
        /// A transfer token is being consumed.
        case consuming(HandoffTrial)
        /// The proof for the token of this session is being redeemed.
        case redeeming(CachedSession)
        /// The proof was accepted, and the session is being looked up again: it may have ended meanwhile.
        case proven
        /// The last action was returned.
        case ended
    }

    /// - Parameter requestID: The gateway's own id; the one from a trusted proxy is added to it in `findings`.
    package init(requestID: RequestID) {
        self.findings = JudgeFindings(requestID: requestID)
    }

    /// The peer, or the client that trusted peers name.
    func address(_ given: borrowing RoutedRequest) -> IPAddress { self.findings.clientAddress ?? given.peer }

    // MARK: Events

    /// Judges the head.
    package mutating func begin(_ given: JudgingContext) -> JudgeAction {
        guard case .head = self.state else { preconditionFailure("a request was begun twice") }
        self.state = .ended
        if let end = self.chooseRoute(given) { return end }
        return self.onRoute(given) { $0.judgeCredentials($1) }
    }

    /// Reads the credentials, and asks for the session that they present.
    private mutating func judgeCredentials(_ given: borrowing RoutedRequest) -> JudgeAction {
        if let limit = given.route.maxBody, case .length(let length) = given.head.framing,
            length > limit
        {
            return .answer(.problem(.requestBodyTooLarge, requestID: self.findings.requestID))
        }
        // Behind most proxies an answer to a preflight would let it pass to the app, or be none.
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

    /// Whether a request would do harm if it were a replay of one that a client sent before its handshake had ended
    /// (RFC 8470 2.1): it may change something, or spends a transfer token.
    private func mustNotBeEarly(_ given: borrowing RoutedRequest) -> Bool {
        !given.head.knownMethod.isSafe || given.head.isWebSocketUpgrade || self.findings.asker.contains(.hidesMethod)
            || self.credentials.hasTransferToken
    }

    /// Continues with the result of a session's look-up.
    package mutating func sessionFound(_ answer: SessionAnswer, _ given: JudgingContext) -> JudgeAction {
        self.onRoute(given) { $0.judge(answer, $1) }
    }

    private mutating func judge(_ answer: SessionAnswer, _ given: borrowing RoutedRequest) -> JudgeAction {
        switch self.state {
        case .session:
            if case .cookie = self.credentials.presented, let cookie = self.credentials.cookies.provider.value,
                !answer.isUsable(on: given.host)
            {
                // The gateway's own session has ended; the browser still has the provider's.
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

    /// Continues when a session could not be looked up, a transfer token not consumed or a proof not redeemed.
    ///
    /// - Parameter reason: The refusal for a session: the store or a provider is unavailable.
    package mutating func unavailable(
        _ error: StoreError,
        _ reason: Reason,
        _ given: JudgingContext
    ) -> JudgeAction {
        let state = self.state
        self.state = .ended
        switch state {
        case .session, .redeeming, .proven:
            return .answer(.problem(reason, requestID: self.findings.requestID))
        case .existing(let trial), .consuming(let trial):
            return self.onRoute(given) { .answer($0.postpone(trial, error, reason, $1)) }
        case .head, .ended:
            preconditionFailure("the store was reported unavailable but was not asked")
        }
    }

    /// A refusal that scripts of other origins may read, if the route allows it.
    ///
    /// - Parameters:
    ///   - explanation: What happened, in words of the operator for the user; nil: what the reason says.
    ///   - fields: Fields of the answer in addition to the usual ones.
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

/// What the driver must do next.
package enum JudgeAction: ~Copyable {
    /// Look for a session, then call `sessionFound` or `unavailable`.
    case ask(SessionQuestion)
    /// Consume the transfer token, then call `handoffEnded` or `unavailable`.
    case consume(OutOfLine<HandoffRequest>)
    /// Have the proof remembered, then call `proofRedeemed` or `unavailable`.
    case redeem(OutOfLine<DPoPProof>)
    /// Read the body, then let the endpoint answer.
    case collect(OutOfLine<EndpointCall>)
    /// Forward it, with these identity lines; nil if there is no session whose identity the app sees.
    case permitted(Permit, identity: IdentityLines?)
    case answer(LocalAnswer)
}

/// A request to one of the gateway's endpoints, its body not read yet.
package struct EndpointCall: Sendable {
    package let endpoint: Endpoint
    package let request: EndpointRequest
}

/// A session to look up: in the loop's cache, else in the store.
package struct SessionQuestion {
    /// Why it is looked up.
    package enum Purpose: Sendable {
        /// The request presents it.
        case request
        /// The browser has it and presents a transfer token.
        case handoff
        /// The request presents it, and its proof was accepted.
        case proof
    }

    package let kind: Session.Kind
    /// Whether it is the provider's own cookie and not a token.
    package var isProviders = false
    /// The token's bytes, not validated yet.
    package let token: Slice
    package let purpose: Purpose
}

/// The result of a session's look-up.
package enum SessionAnswer {
    /// A live session of the requested kind.
    case found(CachedSession)
    /// No live session, or one of the other kind.
    case none
    /// The token is not accepted, for this reason.
    case refused(Reason)
    /// The provider demands more of its user.
    indirect case insufficient(ProviderDemand)
    /// The token was made under a secret that is not accepted.
    case otherKey
    /// By its syntax the token is not one of this gateway.
    case malformed

    /// Whether it is a session that the gateway's own cookie can present on this host.
    func isUsable(on host: HostEntry) -> Bool {
        guard case .found(let session) = self else { return false }
        return session.session.host == host.publicURL.authority && host.isFor(session)
    }
}
