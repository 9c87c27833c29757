package import Sessions

/// A provider whose tokens are refreshed while a session is used (RFC 6749 6).
package protocol RefreshingProvider: Sendable {
    /// The provider's name, equal to `BrowserProvider.name`.
    var name: String { get }

    /// Exchanges the refresh token once, with its own time limit.
    ///
    /// - Parameter user: The session's user. An answer for another user is `.ended` (OpenID Connect Core 12.2).
    func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh

    /// Revokes the refresh token, or the access token if there is none (RFC 7009). Errors are ignored, because the
    /// session ends here in any case.
    func revoke(_ tokens: ProviderTokenSet) async
}

/// A provider's answer to a refresh. A detail is for logs: the provider's error code or the failure, never a token.
package enum ProviderRefresh: Sendable, Equatable {
    /// - Parameter authentication: The user's new claims. `nil` if the answer has none.
    case refreshed(ProviderTokenSet, authentication: Authentication?)
    /// The answer has some of the user's new claims. Missing claims are unchanged.
    case refreshedInPart(ProviderTokenSet, authentication: Authentication)
    /// The provider ended its grant (`invalid_grant`), or the user differs or may no longer sign in. The lineage ends.
    case ended(detail: String)
    /// The provider refused or could not be reached, and did not use the refresh token. Retry after this time, or with
    /// a growing pause if it is `nil`.
    case later(after: Duration?, detail: String)
    /// The request was sent, but no answer arrived. The refresh token may have been used.
    case ambiguous(detail: String)

    /// The user's claims in the answer. `nil` if it has none.
    package var authentication: Authentication? {
        switch self {
        case .refreshed(_, let authentication): authentication
        case .refreshedInPart(_, let authentication): authentication
        case .ended, .later, .ambiguous: nil
        }
    }
}
