package import Sessions
package import Vocabulary

/// A provider that verifies tokens that it issued itself: session tokens of Kratos, or access tokens that an
/// introspection endpoint (RFC 7662) or a key set verifies.
package protocol TokenProvider: Sendable {
    /// The provider's name in keys and sessions: the issuer. It must not change while tokens are in use.
    var name: String { get }

    /// The settings that decide whether and how a token is accepted: issuer, audiences, endpoint, claims. A verdict
    /// under another configuration is not used.
    var configuration: String { get }

    /// True if tokens are signed and need no call. They are then verified before the store is asked, so that a flood of
    /// forged tokens costs the store nothing.
    var verifiesLocally: Bool { get }

    /// How long an expired verdict may still be used in an outage of the provider (RFC 5861 4).
    var staleLifetime: Duration { get }

    /// Returns whether the provider may know these bytes, judging by their syntax. It is called on an event loop, must
    /// not do I/O, and gets every token that does not have the gateway's own syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool

    /// Returns whether the provider may know these bytes as a token or as its own cookie, judging by their syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer, as kind: Session.Kind) -> Bool

    /// Judges the token at once, on an event loop and without I/O. `nil` if only `introspect` can judge it.
    func judge(_ token: Secret) -> TokenVerdict?

    /// Asks the provider about the token or cookie, with its own time limit. Each loop asks about a token once at a
    /// time.
    func introspect(_ presented: PresentedToken) async -> TokenVerdict

    /// Ends the provider's session of a token whose user has signed out. Succeeds if the session has already ended.
    ///
    /// - Parameter sessionID: The provider's id of the session. `nil` if it is not known.
    /// - Returns: True if the session ended at the provider, or the provider is not notified of sign-outs.
    func revoke(_ presented: PresentedToken, sessionID: String?) async -> Bool
}

extension TokenProvider {
    package var configuration: String { "" }
    package var verifiesLocally: Bool { false }
    package var staleLifetime: Duration { .zero }

    package func mayKnow(_ token: UnsafeRawBufferPointer, as kind: Session.Kind) -> Bool {
        kind == .native && self.mayKnow(token)
    }

    package func revoke(_ presented: PresentedToken, sessionID: String?) async -> Bool { true }

    package func judge(_ token: Secret) -> TokenVerdict? { nil }
}

/// A foreign token that a client presents.
package struct PresentedToken: Sendable, Hashable {
    package var token: Secret
    /// `web` for a cookie of the provider.
    package var kind: Session.Kind
    /// True if the provider confirmed the token before. If it now refuses the token, something has changed.
    package var wasGood = false
    /// True if earlier answers must not be used, because the session may have ended since.
    package var isDoubted = false
    /// The client that presents the token. The provider does not learn who the client is.
    package var caller: ProviderCaller

    package init(
        _ token: Secret,
        as kind: Session.Kind = .native,
        for caller: ProviderCaller = .endpoint(nil)
    ) {
        self.token = token
        self.kind = kind
        self.caller = caller
    }

    /// Returns why the provider is not asked, for the log.
    func refusal(of calls: String) -> String {
        "too many \(calls) are under way" + (self.caller.client.map { ", so one of \($0) was not sent" } ?? "")
    }
}

/// A provider's answer about a token.
package enum TokenVerdict: Sendable, Equatable {
    case known(KnownToken)
    /// The token is not accepted, with the reason: expired, revoked, never issued, or issued for another service.
    case unknown(Reason)
    /// The provider confirmed the token before (`PresentedToken.wasGood`), but its session at the provider has ended.
    /// Everything that came from that session ends at the gateway as well.
    case ended(Reason)
    /// The provider knows the session, but requires stronger authentication before it names the user.
    indirect case insufficient(ProviderDemand)
    /// The provider cannot be reached: 503 with `Retry-After`.
    case unavailable
}

/// A live foreign token.
package struct KnownToken: Sendable, Hashable {
    package var identity: Identity
    package var aal: AssuranceLevel
    /// The authentication methods, as the provider names them.
    package var methods: [String]
    /// When the user authenticated. If the provider does not say, the earliest possible time, so that a requirement for
    /// a recent sign-in is not met by mistake.
    package var authenticatedAt: UnixTime
    /// When the provider issued the token, by its own clock. `nil` if the provider does not say.
    package var issuedAt: UnixTime?
    /// When the token expires.
    package var expiresAt: UnixTime
    /// The provider's id of the session that the token belongs to (`sid`). With this id, all tokens of the session can
    /// be ended together. `nil` if the provider names no session.
    package var sessionID: String?
    /// The OAuth client that the token was issued to. `nil` if the provider names no client.
    package var clientID: String?
    package var scopes: [String]
    /// The proofs that the presenter of the token must give. `nil` if none are required.
    package var confirmation: Confirmation?
    /// How long the verdict may be reused (`Ory-Session-Cache-For`). `nil` if the provider does not say.
    package var cacheLifetime: Duration?
    /// True if the user may sign in (`Admission`). Otherwise the token is valid for requests, but yields no other
    /// token.
    package var isAdmitted: Bool

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
        confirmation: Confirmation? = nil,
        cacheLifetime: Duration? = nil,
        isAdmitted: Bool = true
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
        self.confirmation = confirmation
        self.cacheLifetime = cacheLifetime
        self.isAdmitted = isAdmitted
    }
}
