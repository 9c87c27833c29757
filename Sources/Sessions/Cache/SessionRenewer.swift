package import NIOCore
package import Vocabulary

/// Renews the provider's tokens of a session.
package protocol SessionRenewer: Sendable {
    /// Renews the tokens in the background, and returns at once. Called on an event loop for uses after
    /// `ProviderSession.renewAt`, about once a second until that time changes.
    func renew(_ session: Session, _ key: RecordKey)

    /// Renews the tokens for a request that needs unexpired ones. The future succeeds when the renewal is over or
    /// impossible, or takes longer than a request may wait.
    func renewed(_ session: Session, _ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

/// The provider's tokens of a session, as `identity.headers` sends them to an app.
package struct SessionTokens: Sendable, Hashable {
    package let access: Secret
    package let id: Secret?
    /// The time when the access token expires; `nil` if unknown.
    package let expiresAt: UnixTime?
    /// The time when the id_token expires, after which apps do not get it; `nil` if it never does, or if there is none.
    package let idExpiresAt: UnixTime?

    package init(access: Secret, id: Secret?, expiresAt: UnixTime? = nil, idExpiresAt: UnixTime? = nil) {
        self.access = access
        self.id = id
        self.expiresAt = expiresAt
        self.idExpiresAt = id == nil ? nil : idExpiresAt
    }

    /// The tokens without the id_token.
    var withoutID: SessionTokens { SessionTokens(access: self.access, id: nil, expiresAt: self.expiresAt) }
}

/// Reads the provider's tokens of sessions.
package protocol SessionTokenReader: Sendable {
    /// Returns the tokens of the grant under `key`; `nil` if it no longer exists. Fails with `StoreError`.
    func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?>
}
