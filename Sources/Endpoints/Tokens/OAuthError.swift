package import JOSE
package import Vocabulary

/// A refusal in OAuth's format (RFC 6749 5.2, RFC 8693 2.2.2), which the SDKs parse, and its reason for the gateway's
/// log.
package struct OAuthError: Error, Sendable {
    /// The `error` member.
    package enum Code: String, Sendable, CaseIterable {
        /// A rule denied it; the code and its status are those of Auth0's `api.access.deny`.
        case accessDenied = "access_denied"
        case invalidClient = "invalid_client"
        /// RFC 9449 12.2
        case invalidDPoPProof = "invalid_dpop_proof"
        case invalidGrant = "invalid_grant"
        case invalidRequest = "invalid_request"
        case invalidTarget = "invalid_target"
        case temporarilyUnavailable = "temporarily_unavailable"
        /// No standard defines a code for 429; this is Auth0's.
        case tooManyRequests = "too_many_requests"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
        /// RFC 9449 8
        case useDPoPNonce = "use_dpop_nonce"
    }

    /// What a client presents for tokens, with the sentence of its `invalid_grant`: the same, whatever is wrong with it.
    package enum Presented: String, Sendable {
        case code = "Invalid authorization code."
        // Auth0's SDKs compare this sentence.
        case refreshToken = "Unknown or invalid refresh token."
        case sessionToken = "Unknown or invalid session token."
        case socialToken = "Invalid subject_token."
    }

    /// The reason, which decides the code and the status.
    package var reason: Reason
    /// A fixed sentence without quotes or backslashes (RFC 6749 5.2) that contains no part of the request, or the text of
    /// a rule as the operator wrote it.
    package var description: String
    /// Whether the client used `Authorization` to authenticate: then the answer is 401 with a challenge for the same
    /// scheme.
    package var challenges = false
    /// The remaining time of a rate limit.
    package var wait: Duration?
    /// Fields of the answer in addition to the usual ones.
    package var fields: [(name: String, value: String)] = []

    /// The refusal for this reason. A client only learns that its token is not accepted: unknown, expired, revoked and
    /// foreign tokens get the same answer.
    package init(_ reason: Reason, of presented: Presented = .sessionToken) {
        self.reason = reason
        self.description =
            switch Self.code(of: reason) {
            case .accessDenied: "Access denied."
            case .invalidClient: "Client authentication failed."
            case .invalidDPoPProof where reason == .proofMissing: "A DPoP proof is needed."
            case .invalidDPoPProof, .useDPoPNonce: "The DPoP proof is not accepted."
            // Auth0's SDKs compare this sentence, too.
            case .invalidGrant where reason == .refreshUserGone:
                "The refresh_token was generated for a user who doesn't exist anymore."
            case .invalidGrant: presented.rawValue
            case .invalidRequest: "The request is malformed."
            case .invalidTarget: "The requested audience is not served here."
            case .temporarilyUnavailable: "The service is temporarily unavailable."
            case .tooManyRequests: "Too many requests. Please try again later."
            case .unauthorizedClient where reason == .handoffNested:
                "A session that began with a session transfer may not be transferred."
            case .unauthorizedClient where reason == .oauthUnauthorizedClient: "The client may not use this grant_type."
            case .unauthorizedClient: "The client may not create session transfer tokens."
            case .unsupportedGrantType: "The grant_type is not supported."
            }
    }

    /// A parameter is missing, repeated, of the wrong shape or value.
    package static func invalidRequest(_ description: String) -> OAuthError {
        var error = OAuthError(.oauthInvalidRequest)
        error.description = description
        return error
    }

    /// The client is unknown or its authentication failed; the answer does not reveal which.
    package static func invalidClient(challenges: Bool) -> OAuthError {
        var error = OAuthError(.oauthInvalidClient)
        error.challenges = challenges
        return error
    }

    /// A rule denied it, with what the user reads.
    package static func denied(_ text: String?) -> OAuthError {
        var error = OAuthError(.ruleDenied)
        if let text { error.description = text }
        return error
    }

    /// The refusal for what did not take place.
    package init(_ error: NotDone, of presented: Presented) {
        self.init(error.reason, of: presented)
        self.wait = error.retryAfter
        if let text = error.text { self.description = text }
    }

    /// A proof is not accepted.
    package init(_ refusal: DPoPRefusal) {
        self.init(refusal.reason)
        self.description = refusal.description
        self.fields = refusal.nonce.map { [("dpop-nonce", $0)] } ?? []
    }

    /// A rate limit is reached. The code does not blame the client or its token, so that no SDK discards one.
    package static func tooManyRequests(_ reason: Reason, retryAfter wait: Duration) -> OAuthError {
        var error = OAuthError(reason)
        error.wait = wait
        return error
    }

    /// The `error` member.
    package var code: Code { Self.code(of: self.reason) }

    /// An outage is never `invalid_grant`, because SDKs then discard their tokens and keys.
    private static func code(of reason: Reason) -> Code {
        switch (reason, reason.status) {
        case (_, 503): .temporarilyUnavailable
        case (_, 429): .tooManyRequests
        case (.oauthInvalidClient, _): .invalidClient
        case (.ruleDenied, _): .accessDenied
        // Not `invalid_grant`: an SDK would discard a token that is still good.
        case (.proofInvalid, _), (.proofMissing, _), (.proofOtherKey, _), (.proofReplayed, _): .invalidDPoPProof
        case (.proofNonceNeeded, _): .useDPoPNonce
        case (.oauthInvalidRequest, _): .invalidRequest
        case (.oauthInvalidTarget, _): .invalidTarget
        case (.oauthUnsupportedGrantType, _): .unsupportedGrantType
        case (.handoffNotPermitted, _), (.handoffNested, _), (.oauthUnauthorizedClient, _): .unauthorizedClient
        default: .invalidGrant
        }
    }

    /// The answer that carries the error. For an outage, a rate limit, a rule and a user who is gone, its status is that of the
    /// reason table, else that of RFC 6749 5.2.
    package var response: EndpointResponse {
        let status =
            switch self.code {
            case .accessDenied, .temporarilyUnavailable, .tooManyRequests: self.reason.status
            // With 400, Auth0's SDKs would take the token for one that expired.
            default: self.reason == .refreshUserGone ? self.reason.status : self.challenges ? 401 : 400
            }
        var fields = TokenAnswer.fields + self.fields
        fields += self.reason.refusal?.retryFields(self.wait) ?? []
        if status == 401 {
            fields.append(("www-authenticate", "Basic realm=\"sallyport\", charset=\"UTF-8\""))
        }
        return .json(
            status,
            ["error": .string(self.code.rawValue), "error_description": .string(self.description)],
            fields: fields,
            reason: self.reason
        )
    }
}
