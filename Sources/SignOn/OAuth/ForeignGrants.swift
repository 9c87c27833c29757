package import Sessions

/// The tokens of providers that clients may exchange for tokens of this gateway.
package struct ForeignGrants: Sendable {
    /// Notes that the lineage of this session, which comes from the provider's, ends with it. Called before anything is
    /// written in the lineage.
    package typealias Note = @Sendable (Lineage, Session, ProviderSession) async throws(StoreError) -> Void

    /// Access and session tokens; nil: none is accepted.
    let tokens: (any ForeignTokens)?
    /// nil: none is accepted.
    let refreshTokens: (any ForeignTokens)?
    let note: Note

    package init(
        tokens: (any ForeignTokens)?,
        refreshTokens: (any ForeignTokens)? = nil,
        note: @escaping Note
    ) {
        self.tokens = tokens
        self.refreshTokens = refreshTokens
        self.note = note
    }
}
