package import Vocabulary

/// What a provider handed out with a sign-in, apart from the user's identity.
package struct ProviderEvidence: Sendable, Hashable {
    /// The provider's own name, equal to `BrowserProvider.name`.
    package var provider: String
    /// The provider's id of its session (`sid`), by which it can later ask for the end of sessions.
    package var sessionID: String?
    /// When the provider said so, by its own clock (`iat` of the id_token); nil: it does not say.
    package var issuedAt: UnixTime?
    /// When the provider was asked, by the clock of the store (`SessionStore.now`); nil: it ends no sessions here.
    package var askedAt: UnixTime?
    /// nil: the provider's tokens are not kept.
    package var tokens: ProviderTokenSet?

    /// The longest `sid` in UTF-8 bytes, for sign-ins and logouts alike: if sign-ins took shorter ones only, a logout
    /// would be confirmed and end nothing. Some providers seal what they know of the session in it (idpyoidc: 304 bytes).
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

/// A user for whom a provider vouches, and what it handed out with the sign-in.
package struct ProvenUser: Sendable, Hashable {
    package var authentication: Authentication
    package var evidence: ProviderEvidence

    package init(_ authentication: Authentication, _ evidence: ProviderEvidence) {
        self.authentication = authentication
        self.evidence = evidence
    }
}

/// The tokens that a provider's token endpoint handed out (RFC 6749 5.1). They never leave the gateway, but in the
/// fields of `identity.headers` that name them.
package struct ProviderTokenSet: Sendable, Hashable {
    package var accessToken: Secret
    /// `Bearer` or `DPoP`, as the provider wrote it.
    package var tokenType: String
    package var idToken: Secret?
    package var refreshToken: Secret?
    /// When the access token expires; nil if the provider does not say.
    package var expiresAt: UnixTime?
    package var scopes: [String]
    /// The private key to which the tokens are bound (RFC 9449), as PKCS #8 in DER; nil: they are bearer tokens.
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
