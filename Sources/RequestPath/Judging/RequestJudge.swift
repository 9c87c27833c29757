package import Endpoints
package import Handoff
package import Sessions
import Settings
package import Vocabulary

/// The life of one request up to its permit, without I/O: what is asked for, and what follows from the answer.
///
/// ```
///   head ─▶ route ─▶ credentials ─┬────────────────────────────▶ session ─▶ decision ─▶ permitted
///                                 │                                 ▲
///                                 └─▶ existing ─▶ consuming ────────┘
///                                        ▲            │
///                                        └────────────┘  the token in the query, after the one in the cookie
/// ```
/// Every step may end with an answer instead; `session`, `existing` and `consuming` are where the request waits for its
/// driver. The route is frozen before a credential is looked at, and credentials are read once.
///
/// The head and its bytes are lent to each step, the judge keeps slices only. It reads no clock, asks and emits nothing:
/// time, peer and configuration are given (`JudgingContext`), and what is to be told stands in `findings`. The one thing
/// that it makes up is the secret of a first handoff attempt.
package struct RequestJudge {
    /// What the request has come to so far, for the driver to apply, log and forward with.
    package var findings: JudgeFindings
    /// Read once the route is known; empty before.
    package internal(set) var credentials = Credentials()
    var state = State.head

    /// What the judge waits for.
    enum State {
        /// The head has come.
        case head
        /// The session that the request presents is asked for.
        case session
        /// The session that the browser has is asked for, before its transfer token is consumed.
        indirect case existing(HandoffTrial)
        /// A transfer token is being consumed.
        indirect case consuming(HandoffTrial)
        /// An action was returned after which nothing is asked.
        case ended
    }

    /// - Parameter requestID: The gateway's own; the one that a trusted proxy gives is noted in `findings`.
    package init(requestID: RequestID) {
        self.findings = JudgeFindings(requestID: requestID)
    }

    // MARK: Events

    /// The head has come.
    package mutating func begin(_ head: RequestHead, _ base: Bytes, _ given: JudgingContext) -> JudgeAction {
        guard case .head = self.state else { preconditionFailure("a request was begun twice") }
        self.state = .ended
        if let end = self.chooseRoute(head, base, given) { return end }
        guard let route = self.findings.route, let host = self.findings.host else {
            preconditionFailure("a request goes on without a route")
        }
        if let limit = route.maxBody ?? given.configuration.limits.body, case .length(let length) = head.framing,
            length > limit
        {
            return .answer(.problem(.requestBodyTooLarge, requestID: self.findings.requestID))
        }
        if let answer = CrossOrigin.preflight(head, base, route, self.findings.requestID) { return .answer(answer) }
        self.findings.stage = .credentials
        switch Credentials.read(
            head,
            base,
            route: route,
            cookies: given.configuration.cookies(of: host),
            parameter: given.configuration.parameter
        ) {
        case .success(let read): self.credentials = read
        case .failure(let reason):
            return .answer(self.refusal(reason, head, base, route))
        }
        if self.credentials.cookies.sessionIsAmbiguous { self.clearSessionCookies(given, host) }
        if route.settings.handoff, let action = self.beginHandoff(head, base, given, route, host) { return action }
        return self.askForSession(head, base, given, route, host)
    }

    /// The session that was asked for was looked up.
    package mutating func sessionFound(
        _ answer: SessionAnswer,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext
    ) -> JudgeAction {
        guard let route = self.findings.route, let host = self.findings.host else {
            preconditionFailure("a session was found for a request without a route")
        }
        switch self.state {
        case .session:
            self.state = .ended
            return self.decide(on: answer, head, base, given, route, host)
        case .existing(let trial):
            self.state = .ended
            var existing: CachedSession?
            if case .found(let session) = answer { existing = session }
            return self.consume(trial, existing, given, route, host)
        case .head, .consuming, .ended:
            preconditionFailure("a session was found that was not asked for")
        }
    }

    /// What was asked for could not be said: a session, or what becomes of a transfer token.
    ///
    /// - Parameter reason: The refusal where a session was asked for: the store or a provider is unavailable.
    package mutating func unavailable(
        _ error: StoreError,
        _ reason: Reason,
        _ head: RequestHead,
        _ base: Bytes,
        _ given: JudgingContext
    ) -> JudgeAction {
        let state = self.state
        self.state = .ended
        switch state {
        case .session:
            return .answer(.problem(reason, requestID: self.findings.requestID))
        case .existing(let trial), .consuming(let trial):
            return .answer(self.postpone(trial, error, head, base, given))
        case .head, .ended:
            preconditionFailure("the store is unavailable and was not asked")
        }
    }

    /// A refusal that scripts of other origins may read where the route allows them to.
    func refusal(_ reason: Reason, _ head: RequestHead, _ base: Bytes, _ route: RouteEntry) -> LocalAnswer {
        CrossOrigin.readable(.problem(reason, requestID: self.findings.requestID), head, base, route)
    }
}

/// What is to be done with a request.
package enum JudgeAction: ~Copyable {
    /// Look for a session, then call `sessionFound` or `unavailable`.
    case ask(SessionQuestion)
    /// Consume the transfer token, then call `handoffEnded` or `unavailable`.
    case consume(OutOfLine<HandoffRequest>)
    /// Read the body, then let the endpoint answer.
    case collect(OutOfLine<EndpointCall>)
    /// Forward it, with these identity lines; nil: there is no session whose identity the app sees.
    case permitted(Permit, identity: ContiguousArray<UInt8>?)
    case answer(LocalAnswer)
}

/// A request to one of our endpoints, its body not read yet.
package struct EndpointCall: Sendable {
    package let endpoint: Endpoint
    package let request: EndpointRequest
}

/// A large value that few requests have, kept out of line: every request pays for the size of its actions.
package final class OutOfLine<Value: Sendable>: Sendable {
    package let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// A session to look for: in the loop's cache, else in the store.
package struct SessionQuestion {
    /// Why it is asked for.
    package enum Purpose: Sendable {
        /// The request presents it.
        case request
        /// The browser has it and brings a transfer token.
        case handoff
    }

    package let kind: Session.Kind
    /// The token's bytes, not yet looked at.
    package let token: Slice
    package let purpose: Purpose
}

/// What a presented token names.
package enum SessionAnswer {
    /// A live session of the kind that was asked for.
    case found(CachedSession)
    /// None that lives, or one of the other kind.
    case none
    /// It was made under a secret that is not one of ours.
    case otherKey
    /// It is no token of ours by its syntax.
    case malformed
}
