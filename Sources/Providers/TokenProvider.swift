package import Sessions
package import Vocabulary

/// A provider that knows tokens which it gave out itself: session tokens of Kratos, access tokens that an introspection
/// endpoint (RFC 7662) or a key set vouches for.
package protocol TokenProvider: Sendable {
    /// Names the provider in keys and lineages. It is never another's and stays the same for as long as tokens live.
    var name: String { get }

    /// Whether the provider may know these bytes, by their syntax alone: answered at once and without I/O, on an event loop.
    /// It is asked for every token that is not of the gateway's own syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool

    /// Asks what the token stands for, under a deadline of its own. It is not asked twice at the same time for the same token
    /// by one event loop.
    func introspect(_ token: Secret) async -> TokenVerdict
}

/// What a provider says of a token.
package enum TokenVerdict: Sendable, Equatable {
    case known(KnownToken)
    /// Expired, revoked or never given out.
    case unknown
    /// The provider cannot be reached: 503 with `Retry-After`.
    case unavailable
}

/// A foreign token that lives.
package struct KnownToken: Sendable, Hashable {
    package var identity: Identity
    package var aal: AssuranceLevel
    /// In the provider's words.
    package var methods: [String]
    /// When the user was authenticated. Where the provider does not say, the earliest time that it can have been, so that no
    /// demand for a fresh sign-in is met by mistake.
    package var authenticatedAt: UnixTime
    /// From here on the token is worth nothing.
    package var expiresAt: UnixTime
    /// The provider's public id of the session to which the token belongs: its tokens are one lineage. nil: the token stands
    /// for itself.
    package var sessionID: String?
    /// The OAuth client to which the token was given.
    package var clientID: String?
    package var scopes: [String]
    /// For how long the verdict may be used again at most (`Ory-Session-Cache-For`); nil: the provider does not say.
    package var cacheLifetime: Duration?

    package init(
        identity: Identity,
        aal: AssuranceLevel,
        methods: [String],
        authenticatedAt: UnixTime,
        expiresAt: UnixTime,
        sessionID: String? = nil,
        clientID: String? = nil,
        scopes: [String] = [],
        cacheLifetime: Duration? = nil
    ) {
        self.identity = identity
        self.aal = aal
        self.methods = methods
        self.authenticatedAt = authenticatedAt
        self.expiresAt = expiresAt
        self.sessionID = sessionID
        self.clientID = clientID
        self.scopes = scopes
        self.cacheLifetime = cacheLifetime
    }
}
