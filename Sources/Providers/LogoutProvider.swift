package import Vocabulary

/// A provider that notifies the gateway when its sessions end (Back-Channel Logout 1.0, Front-Channel Logout 1.0).
package protocol LogoutProvider: Sendable {
    /// The provider's name, equal to `BrowserProvider.name`: the issuer.
    var name: String { get }

    /// Verifies a logout token.
    ///
    /// - Throws: `logout.invalid_token`, or `provider.unavailable` if the provider's keys are not known.
    func logoutToken(_ token: Secret) async throws(NotDone) -> LogoutToken
}

/// The sessions that a verified logout token ends.
package struct LogoutToken: Sendable, Hashable {
    /// `jti`. Each token takes effect once.
    package var id: String
    /// `sub`, the provider's own id of the user. `nil` if the token names only a session.
    package var subject: String?
    /// `sid`. `nil` if all sessions of the subject end.
    package var sessionID: String?
    /// True if the provider announces that its id_tokens have `sid`, too. A logout token with an unknown `sid` then
    /// ends no session that has another `sid`.
    package var namesEverySession: Bool
    /// The time from which the token is refused in any case.
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
