/// The answer to a rejected request. The table below (`row`) says which answer each reason has, if any.
///
/// All answers are rendered from the table: problem documents (`ProblemDocument`), pages (`RefusalWords`), Kratos's
/// errors (`Herodot`) and OAuth errors (`OAuthError`). Kratos and OAuth replace the status where their protocol
/// requires another one.
package struct Refusal: Equatable, Sendable {
    /// The value of `WWW-Authenticate` (RFC 9110 11.6.1).
    package enum Challenge: Sendable {
        /// `Bearer` with a realm, or with `error="invalid_token"` if a credential was rejected (RFC 6750 3).
        case bearer
        /// `Bearer error="insufficient_user_authentication"` with the route's requirements (RFC 9470 3).
        case stepUp
        /// `Bearer error="insufficient_scope"` with the route's scopes (RFC 6750 3.1).
        case scope

        /// The parameter of a challenge that has no `error` (RFC 9110 11.5).
        package static let realm = #"realm="sallyport""#
        /// The challenge for requests without a credential.
        package static let anyBearer = "Bearer \(realm)"

        /// Returns the parameters of a challenge as text. Values must not contain quotation marks or backslashes.
        package static func text(_ parameters: [(name: String, value: String)]) -> String {
            parameters.map { #"\#($0.name)="\#($0.value)""# }.joined(separator: ", ")
        }
    }

    /// The value of `Retry-After` (RFC 9110 10.2.3).
    package enum RetryAfter: Equatable, Sendable {
        /// A fixed number of seconds.
        case seconds(Int)
        /// The time that the rate limiter returned.
        case limited
    }

    /// The status code (RFC 9110 15).
    package var status: Int
    package var challenge: Challenge?
    package var retryAfter: RetryAfter?
    /// True if the connection closes after the answer, because the rest of the request is unknown or not read. If the
    /// parser rejects the head, the connection always closes.
    package var closes = false
    /// True if the answer clears the browser's session cookie.
    package var clearsSession = false

    /// An internal error, for a reason without a row.
    package static let internalError = Refusal(500)

    /// 404, for an unknown id in the path.
    package static let missing = Refusal(404)

    private init(_ status: Int) {
        self.status = status
        if status == 401 { self.challenge = .bearer }
        if status == 429 { self.retryAfter = .limited }
        if status == 503 { self.retryAfter = .seconds(1) }
    }

    /// 403 with a challenge that names the requirements for a new sign-in.
    private static let stepUp: Refusal = {
        var row = Refusal(403)
        row.challenge = .stepUp
        return row
    }()

    /// 403 with a challenge that names the required scopes.
    private static let scope: Refusal = {
        var row = Refusal(403)
        row.challenge = .scope
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

    /// Returns the row of a reason; `nil` if no answer is made for the reason, e.g. because it is only logged.
    fileprivate static func row(_ reason: Reason) -> Refusal? {
        switch reason {
        case .requestMalformed, .requestFraming, .requestHost, .requestConnectionNamesIdentity: closing(400)
        case .requestMethod: closing(405)
        case .requestTimeout, .clientStalled: closing(408)
        case .requestLineTooLong: closing(414)
        case .requestExpectation: closing(417)
        case .requestFieldsTooLarge: closing(431)
        case .requestProtocol: closing(501)
        case .requestVersion: closing(505)
        case .requestMisdirected: Refusal(421)
        case .requestEarlyData: Refusal(425)
        case .requestTarget, .requestParameters: Refusal(400)
        case .requestCrossSite: Refusal(403)
        case .requestBodyTooLarge: Refusal(413)
        case .requestMediaType: Refusal(415)

        case .pathAmbiguous, .pathBackslash, .pathBadEscape, .pathDotSegment, .pathDoubleEncoding, .pathEncodedSlash:
            Refusal(400)
        case .routeNotFound, .routeUnknownHost, .routeNotForwarded: Refusal(404)
        case .routeMethodNotAllowed: Refusal(405)

        case .authorizationAddress, .authorizationMetadata: Refusal(400)
        case .authorizationEndpoint, .authorizationPeer: Refusal(403)
        case .authorizationDialect: Refusal(404)

        case .credentialRepeated: Refusal(400)
        case .credentialMissing, .credentialMalformed, .credentialOtherKey: Refusal(401)
        case .credentialExpired, .credentialInvalidToken, .credentialOtherAudience: Refusal(401)
        case .credentialBoundToCertificate, .credentialBoundToKey, .credentialNotBound: Refusal(401)
        case .proofInvalid, .proofMissing, .proofNonceNeeded, .proofOtherKey, .proofReplayed: Refusal(401)
        case .credentialAmbiguousCookie: endOfSession
        case .sessionUnknown, .sessionOtherHost, .sessionOtherProvider, .sessionRenewalAmbiguous, .sessionUserGone,
            .sessionClientGone:
            Refusal(401)
        case .sessionOtherClient: Refusal(400)
        case .sessionLimit: Refusal(403)
        // Only logged. The client is told `Reason.told`, or no request is answered: a session or stream ended.
        case .sessionIdle, .sessionExpired, .sessionForgotten, .sessionTokenReplaced, .sessionRevoked,
            .sessionSignedOut, .sessionOperatorEnded, .sessionProviderSignedOut, .sessionProviderEnded,
            .sessionPasswordChanged:
            nil

        case .signInMalformed, .signInReturnToForbidden, .signInStateMismatch: Refusal(400)
        case .signInBlocked, .signInCancelled, .signInEnded, .signInInsufficient, .signInInteractionRequired,
            .signInNotAllowed, .signInNotNavigation, .signInRepeated:
            Refusal(403)
        case .signInFlowUnknown: Refusal(404)
        case .signInFlowExpired: Refusal(410)
        // Not 401: a 401 must name an authentication scheme (RFC 9110 15.5.2), and no scheme fits a sign-in form.
        case .signInIncomplete, .signInRefused: Refusal(422)
        case .signInThrottled: Refusal(429)
        case .signInInvalidToken, .signInProviderError: Refusal(502)

        case .exchangeReplayed, .exchangeUnknown: Refusal(404)
        case .exchangeNotSignedIn: Refusal(422)
        case .exchangeThrottled: Refusal(429)

        case .logoutInvalidToken, .logoutReplayed: Refusal(400)

        case .requireAAL, .requireMaxAge: stepUp
        case .requireScopes: scope
        case .requireProvider, .requireGroups, .requireOrigin, .requireActor, .requireClientCertificate: Refusal(403)
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown: Refusal(401)

        // The request continues without the transfer token.
        case .handoffUnknown, .handoffExpired, .handoffReplayed, .handoffBurned, .handoffQuarantined, .handoffMalformed,
            .handoffRepeated, .handoffMethodNotAllowed, .handoffOtherHost, .handoffOtherOrganization, .handoffCrossSite,
            .handoffOtherAccount, .handoffDelegationNotPermitted, .ruleSignInRequired:
            nil
        case .ruleDenied: Refusal(403)
        case .handoffNotPermitted, .handoffNested: Refusal(400)
        case .handoffOtherUser: endOfSession
        case .handoffNotNavigation, .handoffUnconfirmed, .handoffAlreadySignedIn: Refusal(403)
        case .handoffThrottled: Refusal(429)

        case .ticketMalformed: Refusal(400)
        case .ticketNoCookie, .ticketNotNavigation, .ticketOtherBrowser, .ticketOtherHost: Refusal(403)
        case .ticketExpired, .ticketQuarantined, .ticketReplayed, .ticketUnknown: Refusal(410)
        case .ticketThrottled: Refusal(429)
        // The user is redirected to the sign-in page or back to the client.
        case .ticketOtherUser, .oauthOtherUser: nil

        case .codeMismatch, .codeOtherClient, .codeReplayed, .codeUnknown: Refusal(400)
        case .refreshOtherClient, .refreshReplayed, .refreshUnconfirmed, .refreshUnknown: Refusal(400)
        case .refreshUserGone: Refusal(403)
        case .oauthInvalidClient, .oauthInvalidRedirect, .oauthInvalidRequest, .oauthInvalidTarget,
            .oauthRequestUnknown, .oauthUnauthorizedClient, .oauthUnsupportedGrantType:
            Refusal(400)
        case .socialRefused, .socialReplayed: Refusal(400)
        case .oauthThrottled, .operatorThrottled: Refusal(429)
        case .clientInvalid, .scimInvalid: Refusal(400)
        case .clientUnknown, .scimUnknown: Refusal(404)
        case .clientExists, .scimExists: Refusal(409)
        case .scimUnsupported: Refusal(501)
        case .operatorUnknown: Refusal(401)
        case .operatorScope: Refusal(403)
        case .identityUnsafeValue, .identityTooLarge: Refusal(403)

        case .upstreamUnreachable, .upstreamTLS, .upstreamReset, .upstreamMalformed: Refusal(502)
        case .storeUnavailable, .storeFull, .providerUnavailable, .gatewayOverloaded: Refusal(503)
        case .upstreamTimeout: Refusal(504)
        // The answer has begun and is cut off, or the client has disconnected.
        case .upstreamTruncated, .gatewayDraining, .clientGone: nil
        }
    }
}

extension Reason {
    /// The answer to a request that is rejected for this reason; `nil` if no answer is made for it (`Refusal.row`).
    package var refusal: Refusal? { Refusal.row(self) }

    /// The status of the answer. 500 for a reason that is only logged: no request is answered with it.
    package var status: Int { (self.refusal ?? .internalError).status }
}
