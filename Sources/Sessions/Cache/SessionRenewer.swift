package import NIOCore
package import Vocabulary

/// Renews what the provider of a session handed out.
package protocol SessionRenewer: Sendable {
    /// Called on an event loop when a session is used after its `ProviderSession.renewAt`, about once a second while
    /// that has not changed. Returns at once: the request goes on with the session as it is.
    func renew(_ session: Session, _ key: RecordKey)

    /// The same for a request that needs tokens which have not expired: the future succeeds when the renewal is over,
    /// cannot begin, or takes longer than a request may wait.
    func renewed(_ session: Session, _ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

/// The tokens of a session's provider, as the fields of `identity.headers` show them to an app.
package struct SessionTokens: Sendable, Hashable {
    package let access: Secret
    package let id: Secret?
    /// When the access token expires; nil if that is unknown.
    package let expiresAt: UnixTime?
    /// When the id_token expires, from which time on no app gets it; `nil` if it never does, or if there is none.
    package let idExpiresAt: UnixTime?

    package init(access: Secret, id: Secret?, expiresAt: UnixTime? = nil, idExpiresAt: UnixTime? = nil) {
        self.access = access
        self.id = id
        self.expiresAt = expiresAt
        self.idExpiresAt = id == nil ? nil : idExpiresAt
    }

    /// The same without the id_token.
    var withoutID: SessionTokens { SessionTokens(access: self.access, id: nil, expiresAt: self.expiresAt) }
}

/// Reads the tokens of sessions.
package protocol SessionTokenReader: Sendable {
    /// The tokens of the grant under `key`; nil if there are none any more. A failure is a `StoreError`.
    func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?>
}
