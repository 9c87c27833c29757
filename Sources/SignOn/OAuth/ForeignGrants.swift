package import Sessions
import Vocabulary

/// The tokens of providers that clients may exchange for tokens of this gateway.
package struct ForeignGrants: Sendable {
    /// Access and session tokens, in the order in which their providers are asked; empty: none is accepted.
    let tokens: [any ForeignTokens]
    /// Empty: none is accepted.
    let refreshTokens: [any ForeignTokens]
    /// Finds the lineages of providers' sessions; nil if no provider ends sessions here.
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

    /// Notes that the lineage of this session, which comes from the provider's, ends with it. To be called before anything
    /// is written in the lineage.
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
