package import Vocabulary

/// A provider that tells the gateway when its own sessions end (OpenID Connect Back-Channel Logout 1.0, Front-Channel
/// Logout 1.0).
package protocol LogoutProvider: Sendable {
    /// Equal to `BrowserProvider.name`: the issuer.
    var name: String { get }

    /// Verifies a logout token.
    ///
    /// - Throws: `logout.invalid_token`; `provider.unavailable` where the provider's keys are not known.
    func logoutToken(_ token: Secret) async throws(NotDone) -> LogoutToken
}

/// A verified logout token: which sessions end.
package struct LogoutToken: Sendable, Hashable {
    /// `jti`: the token is obeyed once.
    package var id: String
    /// `sub`, the provider's own id of the user; `nil` if only a session is named.
    package var subject: String?
    /// `sid`; nil if all sessions of the subject end.
    package var sessionID: String?
    /// Whether the provider says that its id_tokens name their sessions as well. Then a `sid` that is not known here is
    /// none of the sessions with another one, and these stay.
    package var namesEverySession: Bool
    /// From this time on the token is refused in any case.
    package var expiresAt: UnixTime

    package init(
        id: String,
        subject: String?,
        sessionID: String?,
        namesEverySession: Bool = false,
        expiresAt: UnixTime
    ) {
        self.id = id
        self.subject = subject
        self.sessionID = sessionID
        self.namesEverySession = namesEverySession
        self.expiresAt = expiresAt
    }
}
