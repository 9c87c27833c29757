package import Sessions
package import Vocabulary

/// A provider that knows tokens which it issued itself: session tokens of Kratos, access tokens that an introspection
/// endpoint (RFC 7662) or a key set verifies.
package protocol TokenProvider: Sendable {
    /// Names the provider in keys and sessions: the issuer. It must not change while tokens are in use.
    var name: String { get }

    /// What decides, apart from the token, whether and how a token is accepted: issuer, audiences, endpoint, claims. No
    /// verdict that was given under another configuration is used.
    var configuration: String { get }

    /// Whether a token proves itself, by its signature: then it is judged before the store is asked, so that a flood of
    /// forged ones costs the store nothing.
    var verifiesLocally: Bool { get }

    /// Whether the provider may know these bytes, by their syntax alone: answered at once and without I/O, on an event
    /// loop. It is called for every token that is not of the gateway's own syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool

    /// Judges the token at once and without I/O, on an event loop; nil if that is not possible now, and `introspect` is
    /// to be called.
    func judge(_ token: Secret) -> TokenVerdict?

    /// Asks what the token stands for, with its own time limit. One event loop does not ask twice for the same token at
    /// the same time.
    func introspect(_ token: Secret) async -> TokenVerdict
}

extension TokenProvider {
    package var configuration: String { "" }
    package var verifiesLocally: Bool { false }

    package func judge(_ token: Secret) -> TokenVerdict? { nil }
}

/// A provider's answer about a token.
package enum TokenVerdict: Sendable, Equatable {
    case known(KnownToken)
    /// It is not accepted, and why: expired, revoked, never issued, or issued for another service.
    case unknown(Reason)
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
    /// When the provider issued the token, by its own clock; nil if it does not say.
    package var issuedAt: UnixTime?
    /// When the token expires.
    package var expiresAt: UnixTime
    /// The provider's id of its session to which the token belongs (`sid`): all tokens of the session can be ended
    /// together. nil: the provider names none.
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
        issuedAt: UnixTime? = nil,
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
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.sessionID = sessionID
        self.clientID = clientID
        self.scopes = scopes
        self.cacheLifetime = cacheLifetime
    }
}
