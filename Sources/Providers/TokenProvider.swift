package import Sessions
package import Vocabulary

/// A provider that verifies its own tokens: sessions of Kratos, or access tokens by introspection (RFC 7662) or by
/// signature.
package protocol TokenProvider: Sendable {
    /// The provider's name in store keys and sessions. It must not change while tokens are in use.
    var name: String { get }

    /// The settings that decide about tokens, such as issuer, audiences and claims. Verdicts under another
    /// configuration are not used.
    var configuration: String { get }

    /// True if tokens are signed and verified without a call. They are then verified before the store is asked, so that
    /// forged tokens cost the store nothing.
    var verifiesLocally: Bool { get }

    /// The time for which an expired verdict may bridge an outage of the provider (RFC 5861 4).
    var staleLifetime: Duration { get }

    /// Returns whether the bytes have the syntax of the provider's tokens. Called on an event loop, without I/O, for
    /// tokens without the gateway's own syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool

    /// Returns whether the bytes have the syntax of the provider's tokens (`native`) or of its cookie (`web`).
    func mayKnow(_ token: UnsafeRawBufferPointer, as kind: Session.Kind) -> Bool

    /// Judges the token at once, on an event loop and without I/O; `nil` if only `introspect` can judge it.
    func judge(_ token: Secret) -> TokenVerdict?

    /// Asks the provider about the token or cookie, within a time limit. Each loop makes one call for a token at a
    /// time.
    func introspect(_ presented: PresentedToken) async -> TokenVerdict

    /// Ends the provider's session of a token after a sign-out. Succeeds if the session has ended already.
    ///
    /// - Parameter sessionID: The provider's id of the session; `nil` if unknown.
    /// - Returns: True if the provider has ended the session, or is not notified of sign-outs.
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
    /// `web` for a cookie of the provider, `native` for a token.
    package var kind: Session.Kind
    /// True if the provider confirmed the token before.
    package var wasGood = false
    /// True if an earlier answer must not be used, because the session may have ended since.
    package var isDoubted = false
    /// The client that presents the token. The provider is not told who it is.
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

    /// Returns the log message for a call that was not made, because too many calls are under way.
    func refusal(of calls: String) -> String {
        "too many \(calls) are under way" + (self.caller.client.map { ", so one of \($0) was not sent" } ?? "")
    }
}

/// A provider's verdict on a token.
package enum TokenVerdict: Sendable, Equatable {
    case known(KnownToken)
    /// The token is rejected for this reason: expired, revoked, never issued, or issued for another service.
    case unknown(Reason)
    /// The provider confirmed the token before (`PresentedToken.wasGood`), but has ended its session. Everything that
    /// came from the session ends at the gateway, too.
    case ended(Reason)
    /// The provider knows the session, but demands another factor before it reports the user.
    indirect case insufficient(ProviderDemand)
    /// The provider gives no usable answer. The request gets 503 with `Retry-After`, unless an earlier verdict can
    /// still be used.
    case unavailable
}

/// A valid foreign token.
package struct KnownToken: Sendable, Hashable {
    package var identity: Identity
    package var aal: AssuranceLevel
    /// The authentication methods, as the provider names them.
    package var methods: [String]
    /// The time of the authentication. If the provider does not report it, the earliest possible time, so that no
    /// requirement for a recent sign-in is met.
    package var authenticatedAt: UnixTime
    /// The issue time by the provider's clock; `nil` if the provider does not report it.
    package var issuedAt: UnixTime?
    /// The time when the token expires.
    package var expiresAt: UnixTime
    /// The provider's id of the token's session (`sid`), by which all tokens of the session end together; `nil` if
    /// there is none.
    package var sessionID: String?
    /// The OAuth client to which the token was issued; `nil` if the provider reports none.
    package var clientID: String?
    package var scopes: [String]
    /// The proofs that the presenter of the token must give; `nil` if none is required.
    package var confirmation: Confirmation?
    /// The time for which the verdict may be used (`Ory-Session-Cache-For`); `nil` if the provider does not report it.
    package var cacheLifetime: Duration?
    /// True if the user may sign in (`Admission`). Otherwise, the token is valid for requests, but not for an exchange.
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
