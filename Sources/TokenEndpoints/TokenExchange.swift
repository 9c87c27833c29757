package import Settings
package import Vocabulary

/// RFC 8693 exchange of a native session token for a session-transfer token: the parameters, judged.
package struct TokenExchange: Sendable, Equatable {
    /// `requested_token_type` and `issued_token_type` of a session-transfer token, in Auth0's words.
    package static let transferTokenType = "urn:auth0:params:oauth:token-type:session_transfer_token"
    /// What a subject token may call itself: our session token, which serves as an access token as well.
    package static let subjectTokenTypes = [
        "urn:sallyport:params:oauth:token-type:session_token",
        "urn:ietf:params:oauth:token-type:access_token",
    ]

    /// The native session token.
    package var subjectToken: Secret
    /// The audience as it was spelled.
    package var audience: String

    /// Judges the parameters; `targets` are the audiences that this gateway serves.
    package init(_ request: TokenRequest, targets: TransferTargets) throws(OAuthError) {
        let subjectToken = try request.required("subject_token")
        guard Self.subjectTokenTypes.contains(try request.required("subject_token_type")) else {
            throw .invalidRequest("The subject_token_type is not supported.")
        }
        // An actor would have to stand in the web session; a delegation that is silently dropped would be worse.
        guard try request.text("actor_token") == nil, try request.text("actor_token_type") == nil else {
            throw .invalidRequest("An actor_token is not supported.")
        }
        if let requested = try request.text("requested_token_type"), requested != Self.transferTokenType {
            throw .invalidRequest("The requested_token_type is not supported.")
        }
        let audience = try request.required("audience")
        guard targets.contains(audience), try request.text("resource") == nil else {
            throw OAuthError(
                .invalidTarget,
                "The requested audience is not served here.",
                reason: .oauthInvalidTarget
            )
        }
        self.subjectToken = Secret(subjectToken)
        self.audience = audience
    }
}

/// The audiences `urn:<host>:session_transfer` that mean this gateway.
///
/// SDKs take `<host>` from the domain that the app was configured with: with its port (React Native) or without (Swift,
/// Android), in the letters that somebody typed. So every configured host counts in each of these spellings.
package struct TransferTargets: Sendable {
    private let audiences: Set<String>

    package init(_ hosts: [PublicURL]) {
        self.audiences = Set(
            hosts.flatMap { url in
                [url.host, "\(url.host):\(url.port ?? (url.isHTTPS ? 443 : 80))"].map { host in
                    "urn:\(host.lowercased()):session_transfer"
                }
            }
        )
    }

    /// Whether the audience names a configured host.
    package func contains(_ audience: String) -> Bool {
        self.audiences.contains(audience.lowercased())
    }
}
