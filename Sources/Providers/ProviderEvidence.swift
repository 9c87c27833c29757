package import Vocabulary

/// What a provider reports with a sign-in besides the user.
package struct ProviderEvidence: Sendable, Hashable {
    /// The provider's name, equal to `BrowserProvider.name`.
    package var provider: String
    /// The provider's id of its session (`sid`), by which the provider can end the session; `nil` if there is none.
    package var sessionID: String?
    /// The issue time of the id_token by the provider's clock (`iat`); `nil` if unknown.
    package var issuedAt: UnixTime?
    /// The time when the provider was asked, by the store's clock (`SessionStore.now`); `nil` if the provider cannot
    /// end the gateway's sessions.
    package var askedAt: UnixTime?
    /// The provider's tokens; `nil` if they are not stored.
    package var tokens: ProviderTokenSet?

    /// The maximum length of a `sid` in bytes, in sign-ins and logout tokens. Some providers seal data in the `sid`
    /// (idpyoidc: 304 bytes).
    package static let longestSessionID = 1024

    package init(
        provider: String,
        sessionID: String? = nil,
        issuedAt: UnixTime? = nil,
        askedAt: UnixTime? = nil,
        tokens: ProviderTokenSet? = nil
    ) {
        self.provider = provider
        self.sessionID = sessionID
        self.issuedAt = issuedAt
        self.askedAt = askedAt
        self.tokens = tokens
    }
}

/// A user whom a provider has authenticated, and what the provider reported besides.
package struct ProvenUser: Sendable, Hashable {
    package var authentication: Authentication
    package var evidence: ProviderEvidence

    package init(_ authentication: Authentication, _ evidence: ProviderEvidence) {
        self.authentication = authentication
        self.evidence = evidence
    }
}

/// The tokens of a provider's token endpoint (RFC 6749 5.1), or a session of Kratos (`RefreshingProvider.kept`). Only
/// calls to the provider and the configured `identity.headers` contain them.
package struct ProviderTokenSet: Sendable, Hashable {
    package var accessToken: Secret
    /// Exactly `Bearer` or `DPoP`. For a session of Kratos, the kind of credential (`KratosProvider.kept`).
    package var tokenType: String
    package var idToken: Secret?
    package var refreshToken: Secret?
    /// The time when the access token expires; `nil` if the provider does not report it.
    package var expiresAt: UnixTime?
    package var scopes: [String]
    /// The private key that the tokens are bound to (RFC 9449), in PKCS #8 DER; `nil` for bearer tokens.
    package var dpopKey: Secret?

    package init(
        accessToken: Secret,
        tokenType: String = "Bearer",
        idToken: Secret? = nil,
        refreshToken: Secret? = nil,
        expiresAt: UnixTime? = nil,
        scopes: [String] = [],
        dpopKey: Secret? = nil
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.idToken = idToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.scopes = scopes
        self.dpopKey = dpopKey
    }
}
