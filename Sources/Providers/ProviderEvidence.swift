package import Vocabulary

/// The data that a provider issued with a sign-in, apart from the user's identity.
package struct ProviderEvidence: Sendable, Hashable {
    /// The provider's own name, equal to `BrowserProvider.name`.
    package var provider: String
    /// The provider's id of its session (`sid`). The provider can end sessions here by this id. `nil` if none exists.
    package var sessionID: String?
    /// When the provider issued the id_token, by its own clock (`iat`). `nil` if the provider does not say.
    package var issuedAt: UnixTime?
    /// When the provider was asked, by the store's clock (`SessionStore.now`). `nil` if the provider ends no sessions
    /// here.
    package var askedAt: UnixTime?
    /// The provider's tokens. `nil` if they are not kept.
    package var tokens: ProviderTokenSet?

    /// The maximum length of `sid` in UTF-8 bytes, for sign-ins and logouts alike: otherwise a logout could be
    /// confirmed and end nothing. Some providers seal session data in the `sid` (idpyoidc: 304 bytes).
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

/// A user whom a provider has verified, and the data that the provider issued with the sign-in.
package struct ProvenUser: Sendable, Hashable {
    package var authentication: Authentication
    package var evidence: ProviderEvidence

    package init(_ authentication: Authentication, _ evidence: ProviderEvidence) {
        self.authentication = authentication
        self.evidence = evidence
    }
}

/// The tokens from a provider's token endpoint (RFC 6749 5.1). Apart from calls to the provider, they leave the gateway
/// only in the fields of `identity.headers` that name them.
package struct ProviderTokenSet: Sendable, Hashable {
    package var accessToken: Secret
    /// `Bearer` or `DPoP`, in this spelling.
    package var tokenType: String
    package var idToken: Secret?
    package var refreshToken: Secret?
    /// When the access token expires. `nil` if the provider does not say.
    package var expiresAt: UnixTime?
    package var scopes: [String]
    /// The private key that the tokens are bound to (RFC 9449), as PKCS #8 in DER. `nil` for bearer tokens.
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
