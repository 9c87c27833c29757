import JOSE
package import Sessions
import Vocabulary

/// A provider whose tokens are refreshed while a session is used (RFC 6749 6).
package protocol RefreshingProvider: Sendable {
    /// The provider's name, equal to `BrowserProvider.name`.
    var name: String { get }

    /// Returns whether `refresh` can learn something about the user with these tokens, as long as they are valid.
    func canAsk(with tokens: ProviderTokenSet) -> Bool

    /// Exchanges the refresh token once, with its own time limit. Without a refresh token, the provider is asked about
    /// the user with the access token. A refusal of that token before it expires is `.ended`: the provider revoked it.
    ///
    /// - Parameter user: The session's user. An answer for another user is `.ended` (OpenID Connect Core 12.2).
    func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh

    /// Revokes the refresh token, or the access token if none exists (RFC 7009). Errors are ignored, because the
    /// session ends here in any case.
    func revoke(_ tokens: ProviderTokenSet) async
}

extension RefreshingProvider {
    /// The pause before a refused access token is presented again.
    static var secondLook: Duration { .seconds(2) }

    /// Asks about the user with the access token (`ask`), and again if the provider refuses the token: a single refusal
    /// may come from a server that is being replaced.
    ///
    /// - Parameter isWell: Returns whether the provider works otherwise, so that its refusal can be believed.
    func asked(
        _ tokens: ProviderTokenSet,
        isWell: () async -> Bool,
        _ ask: () async throws(ProviderFault) -> ProviderRefresh
    ) async -> ProviderRefresh {
        var fault: ProviderFault
        do throws(ProviderFault) { return try await ask() } catch { fault = error }
        if fault.isUnauthorized {
            try? await Task.sleep(for: Self.secondLook)
            do throws(ProviderFault) { return try await ask() } catch { fault = error }
            if fault.isUnauthorized, await isWell() { return .ended(detail: fault.detail) }
        }
        return fault.isForeign ? .ended(detail: fault.detail) : .later(after: nil, detail: fault.detail)
    }
}

extension ProviderTokenSet {
    /// Returns the key that the tokens are bound to (RFC 9449). `nil` if they are bound to no key.
    func signingKey() throws(JOSEError) -> SigningKey? {
        try self.dpopKey.map { (pkcs8) throws(JOSEError) in try SigningKey(pkcs8: pkcs8, algorithm: .es256) }
    }
}

/// A provider's answer to a refresh. A detail is for logs: the provider's error code or the failure, never a token.
package enum ProviderRefresh: Sendable, Equatable {
    /// - Parameter authentication: The user's new claims. `nil` if the answer has no claims.
    case refreshed(ProviderTokenSet, authentication: Authentication?)
    /// The answer has some of the user's new claims. Missing claims are unchanged.
    case refreshedInPart(ProviderTokenSet, authentication: Authentication)
    /// The provider ended its grant (`invalid_grant`), or the user differs or may no longer sign in. The lineage ends.
    case ended(detail: String)
    /// The provider refused or could not be reached, and did not use the refresh token. Retry after this time, or with
    /// a growing pause if it is `nil`.
    case later(after: Duration?, detail: String)
    /// The request was sent, but no usable answer arrived. The refresh token may have been used.
    case ambiguous(detail: String)

    /// The user's claims in the answer. `nil` if the answer has no claims.
    package var authentication: Authentication? {
        switch self {
        case .refreshed(_, let authentication): authentication
        case .refreshedInPart(_, let authentication): authentication
        case .ended, .later, .ambiguous: nil
        }
    }
}
