package import NIOCore
package import Sessions
package import Vocabulary

/// The tokens of the providers that know tokens, for the resolvers of the event loops: it turns a provider's verdict
/// into a session of the provider's lineage.
package struct ProviderTokens: ForeignTokens {
    private let providers: [any TokenProvider]
    private let authority: TokenAuthority

    /// - Parameter providers: The first one that may know a token, in this order, is asked for it.
    package init(_ providers: [any TokenProvider], authority: TokenAuthority) {
        self.providers = providers
        self.authority = authority
    }

    package func provider(of token: UnsafeRawBufferPointer) -> String? {
        self.providers.first { $0.mayKnow(token) }?.name
    }

    package func session(_ token: Secret, on loop: any EventLoop) -> EventLoopFuture<ForeignSession?> {
        let provider = token.bytes.withUnsafeBytes { bytes in self.providers.first { $0.mayKnow(bytes) } }
        guard let provider else { return loop.makeSucceededFuture(nil) }
        return loop.makeFutureWithTask {
            switch await provider.introspect(token) {
            case .known(let known): self.session(known, token, of: provider)
            case .unknown: nil
            case .unavailable: throw StoreError.unavailable
            }
        }
    }

    private func session(_ known: KnownToken, _ token: Secret, of provider: any TokenProvider) -> ForeignSession {
        let (name, id) = (provider.name, known.sessionID)
        let lineage =
            id.map { self.authority.foreignLineage(session: $0, of: name) }
            ?? self.authority.foreignLineage(token: token, of: name)
        let authenticatedAt = Self.bounded(known.authenticatedAt)
        let expiresAt = Self.bounded(known.expiresAt)
        return ForeignSession(
            session: Session(
                id: id ?? self.authority.foreignSessionID(token: token, of: name),
                kind: .native,
                origin: .native,
                lineage: lineage,
                identity: known.identity,
                clientID: known.clientID,
                aal: known.aal,
                methods: known.methods,
                scopes: known.scopes,
                authenticatedAt: authenticatedAt,
                issuedAt: authenticatedAt,
                expiresAt: expiresAt,
                // The provider decides on idle time; it is asked again every few seconds.
                idleLifetime: max(.zero, expiresAt.since(authenticatedAt))
            ),
            cacheLifetime: known.cacheLifetime
        )
    }

    /// The time, limited so that the difference of two such times cannot overflow: no value from a provider can trap.
    private static func bounded(_ time: UnixTime) -> UnixTime {
        min(max(time, UnixTime(seconds: 0)), UnixTime(seconds: 1 << 40))
    }
}
