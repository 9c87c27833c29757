/// Whom a resolver asks about sessions besides the store. One configuration names all of them.
package struct SessionParties: Sendable {
    /// The tokens that providers know, by realm; empty if no configured provider knows any.
    package var foreignTokens: [RealmTokens] = []
    /// Renews the tokens of sessions' providers; nil: nobody does.
    package var renewer: (any SessionRenewer)?
    /// Reads the tokens of sessions' providers; nil if no field of the identity names them.
    package var tokenReader: (any SessionTokenReader)?
    /// Tells whose users and clients are gone; nil: none is. A reload has every known session read again whose user is
    /// gone; those of clients end by `Invalidation.client`.
    package var directory: (any UserDirectory)?

    package init() {}
}
