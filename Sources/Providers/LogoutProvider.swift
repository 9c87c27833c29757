package import Vocabulary

/// A provider that notifies the gateway when it ends a session (Back-Channel Logout 1.0, Front-Channel Logout 1.0).
package protocol LogoutProvider: Sendable {
    /// The provider's name, equal to `BrowserProvider.name`.
    var name: String { get }

    /// Verifies a logout token.
    ///
    /// - Throws: `logout.invalid_token`, or `provider.unavailable` if the provider's keys are not known.
    func logoutToken(_ token: Secret) async throws(NotDone) -> LogoutToken
}

/// The sessions that a verified logout token ends.
package struct LogoutToken: Sendable, Hashable {
    /// The `jti`. Each logout token is executed once.
    package var id: String
    /// The `sub`: the provider's own id of the user. `nil` if the token names only a session.
    package var subject: String?
    /// The `sid`; `nil` if all sessions of the subject end.
    package var sessionID: String?
    /// True if the provider announces that its id_tokens have a `sid`, too. Then an unknown `sid` ends no session of
    /// the subject that has another `sid`.
    package var namesEverySession: Bool
    /// The time from which the token is rejected.
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
