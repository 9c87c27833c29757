package import Sessions
package import Vocabulary

/// An authenticated user, and how the user authenticated.
package struct Authentication: Sendable, Hashable {
    package var identity: Identity
    /// The assurance level that was reached.
    package var aal: AssuranceLevel
    /// In the order of use, e.g. `password`.
    package var methods: [String]
    /// When the user authenticated; nil: just now.
    package var authenticatedAt: UnixTime?

    /// Stands for a time that the provider does not state: the earliest one, so that a requirement for a recent sign-in is
    /// not met by mistake.
    package static let unknownTime = UnixTime(seconds: 0)

    package init(identity: Identity, aal: AssuranceLevel, methods: [String], authenticatedAt: UnixTime? = nil) {
        self.identity = identity
        self.aal = aal
        self.methods = methods
        self.authenticatedAt = authenticatedAt
    }
}
