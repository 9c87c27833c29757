package import Sessions
package import Vocabulary

/// An authenticated user, and how the user authenticated.
package struct Authentication: Sendable, Hashable {
    package var identity: Identity
    /// The assurance level that the user reached.
    package var aal: AssuranceLevel
    /// The authentication methods in the order of use, e.g. `password`.
    package var methods: [String]
    /// The time of the authentication; `nil` for just now.
    package var authenticatedAt: UnixTime?

    /// The value of `authenticatedAt` if the provider reports no time. It meets no requirement for a recent sign-in.
    package static let unknownTime = UnixTime(seconds: 0)

    package init(identity: Identity, aal: AssuranceLevel, methods: [String], authenticatedAt: UnixTime? = nil) {
        self.identity = identity
        self.aal = aal
        self.methods = methods
        self.authenticatedAt = authenticatedAt
    }
}
