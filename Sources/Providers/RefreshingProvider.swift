package import Sessions

/// A provider whose tokens are refreshed while a session is used (RFC 6749 6).
package protocol RefreshingProvider: Sendable {
    /// Equal to `BrowserProvider.name`.
    var name: String { get }

    /// Exchanges the refresh token once, with its own time limit.
    ///
    /// - Parameter user: The session's user: an answer for another one is `.ended` (OpenID Connect Core 12.2).
    func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh

    /// Revokes the refresh token, or the access token where there is none (RFC 7009). Errors are only logged: the
    /// session ends here in any case.
    func revoke(_ tokens: ProviderTokenSet) async
}

/// A provider's answer to a refresh. A detail is for logs: an error code of the provider or what failed, never a token.
package enum ProviderRefresh: Sendable, Equatable {
    /// - Parameter authentication: The user's new claims; nil if the answer has none.
    case refreshed(ProviderTokenSet, authentication: Authentication?)
    /// The user's new claims are known in part: those that are missing are as they were.
    case refreshedInPart(ProviderTokenSet, authentication: Authentication)
    /// The provider has ended its grant (`invalid_grant`), or the answer is for another user: the lineage ends.
    case ended(detail: String)
    /// The provider refused or could not be reached, and has not used the refresh token. Try again after this time; nil:
    /// with a growing pause.
    case later(after: Duration?, detail: String)
    /// The request was sent and no answer arrived: the refresh token may have been used.
    case ambiguous(detail: String)

    /// The user's claims as far as the answer has them; nil: it has none.
    package var authentication: Authentication? {
        switch self {
        case .refreshed(_, let authentication): authentication
        case .refreshedInPart(_, let authentication): authentication
        case .ended, .later, .ambiguous: nil
        }
    }
}
