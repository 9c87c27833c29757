package import Endpoints
package import Vocabulary

/// A refusal in the words of OAuth (RFC 6749 5.2, RFC 8693 2.2.2): what the SDKs parse, and why for our own log.
package struct OAuthError: Error, Sendable, Equatable {
    /// The `error` member.
    package enum Code: String, Sendable, CaseIterable {
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case invalidRequest = "invalid_request"
        case invalidTarget = "invalid_target"
        case temporarilyUnavailable = "temporarily_unavailable"
        /// No standard has one for 429; this is Auth0's.
        case tooManyRequests = "too_many_requests"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
    }

    package var code: Code
    /// A fixed sentence without quotes or backslashes (RFC 6749 5.2) that repeats nothing of the request.
    package var description: String
    package var reason: Reason
    /// The client used `Authorization` to authenticate: 401 and a challenge for the same scheme are due.
    package var challenges: Bool
    /// After which time the same request may be answered otherwise; nil: never.
    package var retryAfter: Duration?

    package init(
        _ code: Code,
        _ description: String,
        reason: Reason,
        challenges: Bool = false,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.description = description
        self.reason = reason
        self.challenges = challenges
        self.retryAfter = retryAfter
    }

    /// A parameter is missing, repeated, of the wrong shape or value.
    package static func invalidRequest(_ description: String) -> OAuthError {
        OAuthError(.invalidRequest, description, reason: .oauthInvalidRequest)
    }

    /// The client is unknown or did not prove itself; which of the two nobody learns.
    package static func invalidClient(challenges: Bool) -> OAuthError {
        OAuthError(
            .invalidClient,
            "Client authentication failed.",
            reason: .oauthInvalidClient,
            challenges: challenges
        )
    }

    /// The store cannot answer. Never `invalid_grant`, upon which SDKs throw their tokens and keys away.
    package static func unavailable(_ reason: Reason) -> OAuthError {
        OAuthError(
            .temporarilyUnavailable,
            "The service is temporarily unavailable.",
            reason: reason,
            retryAfter: .seconds(1)
        )
    }

    /// A rate limit is reached. Neither the client nor its token is at fault for good, so no SDK may throw one away.
    package static func tooManyRequests(_ reason: Reason, retryAfter wait: Duration) -> OAuthError {
        OAuthError(.tooManyRequests, "Too many requests. Please try again later.", reason: reason, retryAfter: wait)
    }

    /// The answer that carries the error.
    package var response: EndpointResponse {
        let status =
            switch self.code {
            case .temporarilyUnavailable: 503
            case .tooManyRequests: 429
            default: self.challenges ? 401 : 400
            }
        var fields = TokenAnswer.fields
        if let wait = self.retryAfter { fields.append(("retry-after", wait.retryAfter)) }
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

/// What every answer of a token endpoint carries besides `Cache-Control: no-store` (RFC 6749 5.1).
enum TokenAnswer {
    static let fields: [(name: String, value: String)] = [("pragma", "no-cache")]
}
