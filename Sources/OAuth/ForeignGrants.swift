package import Sessions
package import Vocabulary

/// The tokens of providers that clients may exchange for tokens of this gateway.
package struct ForeignGrants: Sendable {
    /// Notes that a lineage ends with the provider's session. Called before anything is written in the lineage.
    package typealias Note = @Sendable (Lineage, ProviderSession, _ until: UnixTime) async throws(StoreError) -> Void

    let tokens: any ForeignTokens
    let note: Note

    package init(tokens: any ForeignTokens, note: @escaping Note) {
        self.tokens = tokens
        self.note = note
    }
}
