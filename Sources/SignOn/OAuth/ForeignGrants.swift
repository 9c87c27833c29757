package import Sessions
import Vocabulary

/// The provider tokens that clients may exchange for tokens of this gateway.
package struct ForeignGrants: Sendable {
    /// Access and session tokens, in the order of asking their providers. Empty if none are accepted.
    let tokens: [any ForeignTokens]
    /// Refresh tokens. Empty if none are accepted.
    let refreshTokens: [any ForeignTokens]
    /// Finds the lineages of providers' sessions. `nil` if no provider ends sessions here.
    private let ends: ProviderSessions?

    package init(
        tokens: [any ForeignTokens],
        refreshTokens: [any ForeignTokens] = [],
        ends: ProviderSessions?
    ) {
        self.tokens = tokens
        self.refreshTokens = refreshTokens
        self.ends = ends
    }

    /// Notes that the session's lineage ends with the provider's session. To be called before writing in the lineage.
    func note(_ lineage: Lineage, _ session: Session, _ provider: ProviderSession) async throws(NotDone) {
        guard let id = provider.sessionID else { return }
        try await self.ends?.note(
            lineage,
            of: session.subject,
            in: id,
            at: provider.name,
            until: session.expiresAt
        )
    }
}
