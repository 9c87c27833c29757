/// How a request is answered that is refused for a reason: a row of the one table of answers.
///
/// Everything that the gateway refuses is a rendering of such a row: problem documents (`ProblemDocument`), pages for people
/// (`RefusalWords`), Kratos's envelope (`Herodot`) and OAuth's (`OAuthError`). The last two keep the statuses of the protocols
/// that they speak, where these have others. Whoever refuses names a reason and no status.
package struct Refusal: Equatable, Sendable {
    /// What `WWW-Authenticate` asks for (RFC 9110 11.6.1).
    package enum Challenge: Sendable {
        /// `Bearer`, with `error="invalid_token"` where a credential was judged (RFC 6750 3).
        case bearer
        /// `Bearer error="insufficient_user_authentication"` with what the route demands (RFC 9470 3).
        case stepUp
    }

    /// What `Retry-After` says (RFC 9110 10.2.3).
    package enum RetryAfter: Equatable, Sendable {
        /// The same request may be answered otherwise after so many seconds.
        case seconds(Int)
        /// After as long as the rate limiter says.
        case limited
    }

    /// The status code (RFC 9110 15).
    package var status: Int
    package var challenge: Challenge?
    package var retryAfter: RetryAfter?
    /// Where the request ends is not known or not waited for, so the connection carries no other. A head that the parser
    /// refuses ends the connection for whatever reason.
    package var closes = false
    /// The browser's session cookie is cleared.
    package var clearsSession = false

    /// What the status is called, which is the title of the problem document (RFC 9457 4.2.1).
    package var title: String { StatusText.phrase(self.status) }

    /// The answer to a reason that has no row: the gateway itself is at fault.
    package static let internalError = Refusal(500)

    private init(_ status: Int) {
        self.status = status
        if status == 401 { self.challenge = .bearer }
        if status == 429 { self.retryAfter = .limited }
        if status == 503 { self.retryAfter = .seconds(1) }
    }

    /// A 403 that names what the next sign-in has to reach.
    private static let stepUp: Refusal = {
        var row = Refusal(403)
        row.challenge = .stepUp
        return row
    }()

    private static func closing(_ status: Int) -> Refusal {
        var row = Refusal(status)
        row.closes = true
        return row
    }

    private static let endOfSession: Refusal = {
        var row = Refusal(401)
        row.clearsSession = true
        return row
    }()

    /// The row of a reason; nil for one that is only logged.
    fileprivate static func row(_ reason: Reason) -> Refusal? {
        switch reason {
        case .requestMalformed, .requestFraming, .requestHost, .requestConnectionNamesIdentity: closing(400)
        case .requestMethod: closing(405)
        case .requestTimeout: closing(408)
        case .requestLineTooLong: closing(414)
        case .requestExpectation: closing(417)
        case .requestFieldsTooLarge: closing(431)
        case .requestVersion: closing(505)
        case .requestTarget, .requestParameters: Refusal(400)
        case .requestCrossSite: Refusal(403)
        case .requestBodyTooLarge: Refusal(413)
        case .requestMediaType: Refusal(415)

        case .pathAmbiguous, .pathBackslash, .pathBadEscape, .pathDotSegment, .pathDoubleEncoding, .pathEncodedSlash:
            Refusal(400)
        case .routeNotFound: Refusal(404)
        case .routeMethodNotAllowed: Refusal(405)

        case .credentialRepeated: Refusal(400)
        case .credentialMissing, .credentialMalformed, .credentialOtherKey: Refusal(401)
        case .credentialAmbiguousCookie: endOfSession
        case .sessionUnknown, .sessionOtherHost: Refusal(401)
        case .sessionOtherClient: Refusal(400)
        // The request is not refused: a stream under way breaks off, or a transfer token is removed.
        case .sessionRevoked: nil

        case .signInMalformed: Refusal(400)
        case .signInFlowUnknown: Refusal(404)
        case .signInFlowExpired: Refusal(410)
        // Not 401, which would have to name a scheme that a browser can answer (RFC 9110 15.5.2).
        case .signInIncomplete, .signInRefused: Refusal(422)
        case .signInThrottled: Refusal(429)

        case .requireAAL, .requireMaxAge: stepUp
        case .requireGroups, .requireScopes, .requireOrigin: Refusal(403)
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown: Refusal(401)

        // The request goes on without the token.
        case .handoffUnknown, .handoffExpired, .handoffReplayed, .handoffBurned, .handoffQuarantined, .handoffMalformed,
            .handoffRepeated, .handoffMethodNotAllowed, .handoffOtherHost, .handoffCrossSite:
            nil
        case .handoffNotPermitted, .handoffNested: Refusal(400)
        case .handoffOtherUser: endOfSession
        case .handoffNotNavigation: Refusal(403)
        case .handoffThrottled: Refusal(429)

        case .oauthInvalidClient, .oauthInvalidRequest, .oauthInvalidTarget, .oauthUnsupportedGrantType: Refusal(400)
        case .identityUnsafeValue, .identityTooLarge: Refusal(403)

        case .upstreamUnreachable, .upstreamReset, .upstreamMalformed: Refusal(502)
        case .storeUnavailable, .storeFull, .providerUnavailable, .gatewayOverloaded: Refusal(503)
        case .upstreamTimeout: Refusal(504)
        // The answer had begun and breaks off, or there is no one left to answer.
        case .upstreamTruncated, .gatewayDraining, .clientGone: nil
        }
    }
}

extension Reason {
    /// How a request is answered that is refused for this reason; nil for a reason that is only logged.
    package var refusal: Refusal? { Refusal.row(self) }

    /// The status of that answer; 500 for a reason that is only logged, which no answer names.
    package var status: Int { (self.refusal ?? .internalError).status }
}
