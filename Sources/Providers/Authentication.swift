package import Sessions
package import Vocabulary

/// A user who was authenticated: who it is, and how that was proved.
package struct Authentication: Sendable, Hashable {
    package var identity: Identity
    /// The assurance level that was reached.
    package var aal: AssuranceLevel
    /// In the order of use, e.g. `password`.
    package var methods: [String]
    /// When the user proved it; nil: just now.
    package var authenticatedAt: UnixTime?

    package init(identity: Identity, aal: AssuranceLevel, methods: [String], authenticatedAt: UnixTime? = nil) {
        self.identity = identity
        self.aal = aal
        self.methods = methods
        self.authenticatedAt = authenticatedAt
    }
}

/// What a provider says of a sign-in. Not reaching a verdict is no refusal.
package enum AuthenticationResult: Sendable, Equatable {
    case authenticated(Authentication)
    /// Unknown user, wrong password, or a sign-in that the provider refused or the user gave up. The client is not told
    /// which.
    case refused
    /// The provider cannot be reached or has too much to do: 503 with `Retry-After`.
    case unavailable
}
