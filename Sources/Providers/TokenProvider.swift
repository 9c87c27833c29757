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

    /// For how long beyond its end a verdict bridges an outage of the provider (RFC 5861 4).
    var staleLifetime: Duration { get }

    /// Whether the provider may know these bytes, by their syntax alone: answered at once and without I/O, on an event
    /// loop. It is called for every token that is not of the gateway's own syntax.
    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool

    /// The same for tokens and for the provider's own cookie.
    func mayKnow(_ token: UnsafeRawBufferPointer, as kind: Session.Kind) -> Bool

    /// Judges the token at once and without I/O, on an event loop; nil if that is not possible now, and `introspect` is
    /// to be called.
    func judge(_ token: Secret) -> TokenVerdict?

    /// Asks what the token, or the provider's own cookie, stands for, with its own time limit. One event loop does not ask
    /// twice for the same one at the same time.
    func introspect(_ presented: PresentedToken) async -> TokenVerdict

    /// Ends the provider's session of a token whose user has signed out; succeeds also when it has ended before.
    ///
    /// - Parameter sessionID: The provider's id of the session; nil if it is not known.
    /// - Returns: Whether the session has ended at the provider, or the provider is not told of sign-outs.
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

/// A foreign token as a client presents it.
package struct PresentedToken: Sendable, Hashable {
    package var token: Secret
    /// `web`: a cookie of the provider.
    package var kind: Session.Kind
    /// Whether the provider has vouched for it before: if it refuses the token now, something has changed.
    package var wasGood = false
    /// Whether an answer that was given before this question does not count, because the session may have ended since.
    package var isDoubted = false
    /// Who presents it. It is not part of what is asked.
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

    /// Why the provider is not asked, for the log.
    func refusal(of calls: String) -> String {
        "too many \(calls) are under way" + (self.caller.client.map { ", so one of \($0) was not sent" } ?? "")
    }
}

/// A provider's answer about a token.
package enum TokenVerdict: Sendable, Equatable {
    case known(KnownToken)
    /// It is not accepted, and why: expired, revoked, never issued, or issued for another service.
    case unknown(Reason)
    /// The provider has vouched for it before (`PresentedToken.wasGood`), and its session has ended there, so that what came
    /// of it here ends as well.
    case ended(Reason)
    /// The provider knows the session, and demands more of its user before it tells who that is.
    indirect case insufficient(ProviderDemand)
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
    /// What whoever presents the token must prove to have; nil: nothing.
    package var confirmation: Confirmation?
    /// The longest time that the verdict may be reused (`Ory-Session-Cache-For`); nil if the provider does not say.
    package var cacheLifetime: Duration?
    /// Whether the user may sign in (`Admission`). If not, the token is good for requests, and gives no other token.
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
