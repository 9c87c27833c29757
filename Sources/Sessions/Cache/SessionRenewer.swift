package import NIOCore
package import Vocabulary

/// Renews the tokens that the provider of a session issued.
package protocol SessionRenewer: Sendable {
    /// Renews the tokens in the background. Called on an event loop if a session is used after its
    /// `ProviderSession.renewAt`, about once a second until that time changes. Returns at once, without waiting.
    func renew(_ session: Session, _ key: RecordKey)

    /// Renews the tokens for a request that needs unexpired ones. The future succeeds when the renewal is over, cannot
    /// begin, or takes longer than a request may wait.
    func renewed(_ session: Session, _ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

/// The tokens of a session's provider, as the fields of `identity.headers` show them to an app.
package struct SessionTokens: Sendable, Hashable {
    package let access: Secret
    package let id: Secret?
    /// The time when the access token expires. `nil` if it is unknown.
    package let expiresAt: UnixTime?
    /// The time when the id_token expires and apps no longer get it. `nil` if it never does, or there is no id_token.
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

/// Reads the tokens that the providers of sessions issued.
package protocol SessionTokenReader: Sendable {
    /// Returns the tokens of the grant under `key`. `nil` if they no longer exist. A failure is a `StoreError`.
    func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?>
}
