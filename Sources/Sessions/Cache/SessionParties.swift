/// The services that a resolver asks about sessions besides the store. A reload replaces all of them.
package struct SessionParties: Sendable {
    /// The foreign tokens of each realm; empty if the gateway accepts no provider's tokens.
    package var foreignTokens: [RealmTokens] = []
    /// Renews the providers' tokens of sessions; `nil` if none are renewed.
    package var renewer: (any SessionRenewer)?
    /// Reads the providers' tokens of sessions; `nil` if no identity header contains them.
    package var tokenReader: (any SessionTokenReader)?
    /// Knows which users and clients are gone; `nil` if none can be.
    package var directory: (any UserDirectory)?
    /// Called with each session that a resolver has ended (`SessionResolver.end`).
    package var onEnd: @Sendable (NewSession) -> Void = { _ in }

    package init() {}
}
