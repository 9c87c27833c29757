package import Endpoints
package import Vocabulary

/// A refusal in OAuth's format (RFC 6749 5.2, RFC 8693 2.2.2), which the SDKs parse, and its reason for the gateway's
/// log.
package struct OAuthError: Error, Sendable, Equatable {
    /// The `error` member.
    package enum Code: String, Sendable, CaseIterable {
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case invalidRequest = "invalid_request"
        case invalidTarget = "invalid_target"
        case temporarilyUnavailable = "temporarily_unavailable"
        /// No standard defines a code for 429; this is Auth0's.
        case tooManyRequests = "too_many_requests"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
    }

    /// The reason, which decides the code and the status.
    package var reason: Reason
    /// A fixed sentence without quotes or backslashes (RFC 6749 5.2) that contains no part of the request.
    package var description: String
    /// Whether the client used `Authorization` to authenticate: then the answer is 401 with a challenge for the same
    /// scheme.
    package var challenges = false
    /// The remaining time of a rate limit.
    package var wait: Duration?

    /// The refusal for this reason. A client only learns that its token is not accepted: unknown, expired, revoked and
    /// foreign tokens get the same answer.
    package init(_ reason: Reason) {
        self.reason = reason
        self.description =
            switch Self.code(of: reason) {
            case .invalidClient: "Client authentication failed."
            // Auth0's SDKs compare this sentence.
            case .invalidGrant where reason.isOfRefreshToken: "Unknown or invalid refresh token."
            case .invalidGrant where reason.isOfCode: "Invalid authorization code."
            case .invalidGrant where reason == .socialRefused || reason == .socialReplayed: "Invalid subject_token."
            case .invalidGrant: "Unknown or invalid session token."
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
        case (.oauthInvalidRequest, _): .invalidRequest
        case (.oauthInvalidTarget, _): .invalidTarget
        case (.oauthUnsupportedGrantType, _): .unsupportedGrantType
        case (.handoffNotPermitted, _), (.handoffNested, _), (.oauthUnauthorizedClient, _): .unauthorizedClient
        default: .invalidGrant
        }
    }

    /// The answer that carries the error. For an outage and a rate limit, its status is that of the reason table, else
    /// that of RFC 6749 5.2.
    package var response: EndpointResponse {
        let status =
            switch self.code {
            case .temporarilyUnavailable, .tooManyRequests: self.reason.status
            default: self.challenges ? 401 : 400
            }
        var fields = TokenAnswer.fields
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

extension Reason {
    fileprivate var isOfRefreshToken: Bool {
        switch self {
        case .refreshOtherClient, .refreshReplayed, .refreshUnknown: true
        default: false
        }
    }

    fileprivate var isOfCode: Bool {
        switch self {
        case .codeMismatch, .codeOtherClient, .codeReplayed, .codeUnknown: true
        default: false
        }
    }
}
