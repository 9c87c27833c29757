package import Sessions
import Vocabulary

/// The provider tokens that clients may exchange for tokens of this gateway.
package struct ForeignGrants: Sendable {
    /// Providers' access and session tokens, in the order in which providers are asked. Empty if no token is accepted.
    let tokens: [any ForeignTokens]
    /// Providers' refresh tokens. Empty if no refresh token is accepted.
    let refreshTokens: [any ForeignTokens]
    /// The notes of the lineages that end with a provider's session. `nil` if no provider ends the gateway's sessions.
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

    /// Notes that the lineage ends with the provider's session. Call this before anything is written in the lineage, so
    /// that the provider's logout finds all of it.
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
