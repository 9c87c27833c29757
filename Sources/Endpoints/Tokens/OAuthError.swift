package import JOSE
package import Vocabulary

/// A refusal in OAuth's format (RFC 6749 4.1.2.1 and 5.2, RFC 8693 2.2.2, OpenID Connect Core 3.1.2.6), with its reason
/// for the gateway's log.
package struct OAuthError: Error, Sendable {
    /// The `error` member.
    package enum Code: String, Sendable, CaseIterable {
        /// A rule or the limit of the user's sessions denied the request. The code and its status are those of Auth0's
        /// `api.access.deny`.
        case accessDenied = "access_denied"
        case interactionRequired = "interaction_required"
        case invalidClient = "invalid_client"
        /// RFC 9449 12.2
        case invalidDPoPProof = "invalid_dpop_proof"
        case invalidGrant = "invalid_grant"
        case invalidRequest = "invalid_request"
        case invalidTarget = "invalid_target"
        case loginRequired = "login_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
        case temporarilyUnavailable = "temporarily_unavailable"
        /// No standard defines a code for 429. This one is Auth0's.
        case tooManyRequests = "too_many_requests"
        case unauthorizedClient = "unauthorized_client"
        /// OpenID Connect Core Error Code unmet_authentication_requirements 1.0
        case unmetAuthenticationRequirements = "unmet_authentication_requirements"
        case unsupportedGrantType = "unsupported_grant_type"
        case unsupportedResponseType = "unsupported_response_type"
        /// RFC 9449 8
        case useDPoPNonce = "use_dpop_nonce"
    }

    /// A credential that a client presents to get tokens. The raw value is the description of its `invalid_grant`.
    package enum Presented: String, Sendable {
        case code = "Invalid authorization code."
        // Auth0's SDKs compare this sentence.
        case refreshToken = "Unknown or invalid refresh token."
        case sessionToken = "Unknown or invalid session token."
        case socialToken = "Invalid subject_token."
    }

    /// The reason of the refusal, for the log and the status.
    package let reason: Reason
    /// The `error` member.
    package let code: Code
    /// The `error_description` member: a sentence of the gateway, or the operator's text of a rule. Of the request, it
    /// contains at most the name of a parameter.
    package var description: String
    /// True if the client tried to authenticate with `Authorization`. The answer is then 401 with a challenge.
    package var challenges = false
    /// The remaining time of a rate limit. `nil` for other refusals.
    package var wait: Duration?
    /// Additional fields of the answer.
    package var fields: [(name: String, value: String)] = []

    /// Creates the refusal for a reason. The answer does not reveal whether a token is unknown, expired, revoked, or
    /// another client's.
    ///
    /// - Parameter code: The `error` member. `nil` for the code of the reason.
    package init(_ reason: Reason, _ code: Code? = nil, of presented: Presented = .sessionToken) {
        self.reason = reason
        self.code = code ?? Self.code(of: reason)
        self.description =
            switch self.code {
            case .accessDenied where reason == .sessionLimit: "The user is signed in on too many devices."
            case .accessDenied: "Access denied."
            case .interactionRequired: "Interaction required."
            case .invalidClient: "Client authentication failed."
            case .invalidDPoPProof where reason == .proofMissing: "A DPoP proof is required."
            case .invalidDPoPProof, .useDPoPNonce: "The DPoP proof is not accepted."
            // Auth0's SDKs compare this sentence.
            case .invalidGrant where reason == .refreshUserGone:
                "The refresh_token was generated for a user who doesn't exist anymore."
            case .invalidGrant: presented.rawValue
            case .invalidRequest: "The request is malformed."
            case .invalidTarget: "The requested audience is not served here."
            case .loginRequired where reason == .oauthOtherUser:
                "The signed-in user is not the user of the id_token_hint."
            case .loginRequired: "Login required."
            case .requestNotSupported: "The parameter request is not supported."
            case .requestURINotSupported: "The parameter request_uri is not supported."
            case .temporarilyUnavailable: "The service is temporarily unavailable."
            case .tooManyRequests: "Too many requests. Please try again later."
            case .unauthorizedClient where reason == .handoffNested:
                "A session that began with a session transfer may not be transferred."
            case .unauthorizedClient where reason == .oauthUnauthorizedClient: "The client may not use this grant_type."
            case .unauthorizedClient: "The client may not create session transfer tokens."
            case .unmetAuthenticationRequirements: "The user did not or cannot sign in at the requested level (acr)."
            case .unsupportedGrantType: "The grant_type is not supported."
            case .unsupportedResponseType: "The response_type is not supported."
            }
    }

    /// Returns the refusal of a parameter that is missing, repeated, or of the wrong shape or value.
    ///
    /// - Parameter description: The sentence. The client chose the name of a parameter in it, so at most 200 characters
    ///   are kept, and `?` replaces those that RFC 6749 5.2 forbids.
    package static func invalidRequest(_ description: String) -> OAuthError {
        var error = OAuthError(.oauthInvalidRequest)
        error.description = String(
            description.prefix(200).map { (" "..."~").contains($0) && $0 != "\"" && $0 != "\\" ? $0 : "?" }
        )
        return error
    }

    /// Returns the refusal of a client that is unknown or failed to authenticate. The answer does not reveal which.
    package static func invalidClient(challenges: Bool) -> OAuthError {
        var error = OAuthError(.oauthInvalidClient)
        error.challenges = challenges
        return error
    }

    /// Creates the refusal for an operation that was not done.
    package init(_ error: NotDone, of presented: Presented = .sessionToken) {
        self.init(error.reason, of: presented)
        self.wait = error.retryAfter
        if let text = error.text { self.description = text }
    }

    /// Runs a service's operation and turns its error into a refusal of the presented credential.
    static func rendering<Answer>(
        _ answer: @autoclosure () async throws(NotDone) -> Answer,
        of presented: Presented = .sessionToken
    ) async throws(OAuthError) -> Answer {
        do throws(NotDone) {
            return try await answer()
        } catch {
            throw OAuthError(error, of: presented)
        }
    }

    /// Creates the refusal of a request whose DPoP proof is missing or not accepted.
    package init(_ refusal: DPoPRefusal) {
        self.init(refusal.reason)
        self.description = refusal.description
        self.fields = refusal.nonce.map { [("dpop-nonce", $0)] } ?? []
    }

    /// Returns the code for a reason. It is never `invalid_grant` for an outage: SDKs would discard tokens and keys.
    private static func code(of reason: Reason) -> Code {
        switch (reason, reason.status) {
        case (_, 503): .temporarilyUnavailable
        case (_, 429): .tooManyRequests
        case (.oauthInvalidClient, _): .invalidClient
        case (.ruleDenied, _), (.sessionLimit, _): .accessDenied
        case (.handoffDelegationNotPermitted, _): .interactionRequired
        case (.credentialMissing, _), (.oauthOtherUser, _): .loginRequired
        // Not `invalid_grant`: an SDK would discard a token that is still valid.
        case (.proofInvalid, _), (.proofMissing, _), (.proofOtherKey, _), (.proofReplayed, _): .invalidDPoPProof
        case (.proofNonceNeeded, _): .useDPoPNonce
        case (.oauthInvalidRequest, _): .invalidRequest
        case (.oauthInvalidTarget, _): .invalidTarget
        case (.oauthUnsupportedGrantType, _): .unsupportedGrantType
        case (.handoffNotPermitted, _), (.handoffNested, _), (.oauthUnauthorizedClient, _): .unauthorizedClient
        default: .invalidGrant
        }
    }

    /// The answer with the error. The status follows RFC 6749 5.2. Outages, limits, rules and removed users have the
    /// status of the reason instead.
    package var response: EndpointResponse {
        let status =
            switch self.code {
            case .accessDenied, .temporarilyUnavailable, .tooManyRequests: self.reason.status
            // With 400, Auth0's SDKs would treat the token as expired.
            default: self.reason == .refreshUserGone ? self.reason.status : self.challenges ? 401 : 400
            }
        var fields = TokenAnswer.fields + self.fields
        fields += self.reason.refusal?.retryFields(self.wait) ?? []
        if status == 401 {
            fields.append(("www-authenticate", "Basic \(Refusal.Challenge.realm), charset=\"UTF-8\""))
        }
        return .json(
            status,
            ["error": .string(self.code.rawValue), "error_description": .string(self.description)],
            fields: fields,
            reason: self.reason
        )
    }
}
