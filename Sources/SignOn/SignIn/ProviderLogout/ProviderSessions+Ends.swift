import NIOCore
package import Sessions
package import Vocabulary

/// Ends sessions and tokens here after their session at the provider has ended.
extension ProviderSessions {
    /// Ends every token and cookie of the provider's session, and every session and token that began with them.
    ///
    /// - Parameter id: The provider's id of the session.
    package func end(session id: String, at provider: String) async throws(NotDone) {
        // The end is published first, so that a sign-in in progress notices it (`haveEnded`).
        try await self.end(subject: ProviderSession.endName(of: id, at: provider))
        for record in try await self.records(of: id, at: provider) { try await self.end(record) }
    }

    /// Ends a provider's token or cookie here, and everything that began with it, even if the provider still accepts
    /// it.
    package func end(token: Secret, of provider: String) async throws(NotDone) {
        let names = ForeignNames(self.authority, provider: provider)
        try await self.end(token.bytes.withUnsafeBytes { names.lineages(of: $0) })
    }

    /// Ends the session that the provider reported for `token`, and everything that began with it.
    package func end(_ session: Session, of token: Secret) async throws(NotDone) {
        guard let provider = session.provider else { return }
        if let id = provider.sessionID { try await self.end(session: id, at: provider.name) }
        try await self.end(token: token, of: provider.name)
    }
}
