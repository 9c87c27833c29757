package import Sessions
package import Vocabulary

/// A provider that knows tokens which it issued itself: session tokens of Kratos, access tokens that an introspection
/// endpoint (RFC 7662) or a key set verifies.
package protocol TokenProvider: Sendable {
    /// Names the provider in keys and lineages. No other provider has this name, and it must not change while tokens
    /// are in use.
    var name: String { get }

    /// Whether the provider may know these bytes, by their syntax alone: answered at once and without I/O, on an event
    /// loop. It is called for every token that is not of the gateway's own syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool

    /// Asks what the token stands for, with its own time limit. One event loop does not ask twice for the same token at
    /// the same time.
    func introspect(_ token: Secret) async -> TokenVerdict
}

/// A provider's answer about a token.
package enum TokenVerdict: Sendable, Equatable {
    case known(KnownToken)
    /// Expired, revoked or never issued.
    case unknown
    /// The provider cannot be reached: 503 with `Retry-After`.
    case unavailable
}

/// A live foreign token.
package struct KnownToken: Sendable, Hashable {
    package var identity: Identity
    package var aal: AssuranceLevel
    /// As the provider names them.
    package var methods: [String]
    /// When the user authenticated. If the provider does not say, the earliest possible time, so that a requirement for
    /// a recent sign-in is not met by mistake.
    package var authenticatedAt: UnixTime
    /// When the token expires.
    package var expiresAt: UnixTime
    /// The provider's public id of the session to which the token belongs: all its tokens are one lineage. nil: the
    /// token is a lineage of its own.
    package var sessionID: String?
    /// The OAuth client to which the token was issued.
    package var clientID: String?
    package var scopes: [String]
    /// The longest time that the verdict may be reused (`Ory-Session-Cache-For`); nil if the provider does not say.
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
