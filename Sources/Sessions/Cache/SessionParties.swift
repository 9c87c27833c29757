/// The parties, apart from the store, that a resolver asks about sessions. One configuration names all of them.
package struct SessionParties: Sendable {
    /// The tokens that providers know, by realm; empty if no configured provider knows any.
    package var foreignTokens: [RealmTokens] = []
    /// Renews the tokens of sessions' providers. `nil` if they are not renewed.
    package var renewer: (any SessionRenewer)?
    /// Reads the tokens of sessions' providers. `nil` if no header field of the identity contains them.
    package var tokenReader: (any SessionTokenReader)?
    /// Knows which users and clients no longer exist. `nil` if none can disappear. After a reload, every known session
    /// whose user is gone is read again; sessions of clients end by `Invalidation.client`.
    package var directory: (any UserDirectory)?

    package init() {}
}
