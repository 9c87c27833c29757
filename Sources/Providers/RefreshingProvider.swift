import JOSE
package import Sessions
package import Vocabulary

/// A provider whose tokens the gateway refreshes while a session is used (RFC 6749 6).
package protocol RefreshingProvider: Sendable {
    /// The provider's name, equal to `BrowserProvider.name`.
    var name: String { get }

    /// Returns whether `refresh` can tell anything about the user with these tokens.
    func canAsk(with tokens: ProviderTokenSet) -> Bool

    /// Returns whether a rejection of these tokens by a `refresh` that begins at `time` says something about the user.
    /// Without a refresh token, it usually does only if the access token has not expired before the answer.
    func isTimely(_ tokens: ProviderTokenSet, at time: UnixTime) -> Bool

    /// Exchanges the refresh token, within a time limit. Without a refresh token, asks about the user with the access
    /// token. If the provider rejects an unexpired access token, and the rejection is credible, the result is `.ended`.
    ///
    /// - Parameter user: The session's user. An answer about another user gives `.ended` (OpenID Connect Core 12.2).
    func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh

    /// Revokes the refresh token, or the access token if there is none (RFC 7009). Errors are ignored, because the
    /// gateway's session ends anyway.
    func revoke(_ tokens: ProviderTokenSet) async

    /// Returns what to keep of a session token or cookie that the provider issued, so that the provider can be asked
    /// about its user while clients use what they got for it. `nil` if the provider is not asked in this way.
    ///
    /// - Parameter expiresAt: When the provider's session expires.
    func kept(_ credential: PresentedToken, until expiresAt: UnixTime) -> KeptCredential?
}

/// A provider's session token or cookie, as far as the provider is asked about it again.
package struct KeptCredential: Sendable {
    package let tokens: ProviderTokenSet
    /// How long the provider's answer is used. `nil` if clients determine it (`refresh_token.confirm_every`).
    package let interval: Duration?
}

extension RefreshingProvider {
    package func isTimely(_ tokens: ProviderTokenSet, at time: UnixTime) -> Bool {
        tokens.refreshToken != nil || tokens.outliveAnswer(at: time)
    }

    package func kept(_ credential: PresentedToken, until expiresAt: UnixTime) -> KeptCredential? { nil }

    /// The pause before a rejected access token is tried again.
    static var secondLook: Duration { .seconds(2) }

    /// Asks about the user with the access token (`ask`). Asks again after a rejection, because a single rejection may
    /// come from a server that is being replaced.
    ///
    /// - Parameter isWell: Returns whether the provider works otherwise, so that its rejection is believed.
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
    /// Returns the key that the tokens are bound to (RFC 9449); `nil` for bearer tokens.
    func signingKey() throws(JOSEError) -> SigningKey? {
        try self.dpopKey.map { (pkcs8) throws(JOSEError) in try SigningKey(pkcs8: pkcs8, algorithm: .es256) }
    }
}

/// The result of a refresh. A `detail` is for logs and never contains a token.
package enum ProviderRefresh: Sendable, Equatable {
    /// - Parameter authentication: The user's new claims; `nil` if there are none.
    case refreshed(ProviderTokenSet, authentication: Authentication?)
    /// The answer has only some of the user's claims. The others are unchanged.
    case refreshedInPart(ProviderTokenSet, authentication: Authentication)
    /// The lineage ends: the provider ended its grant (`invalid_grant`), or the user differs or may not sign in.
    case ended(detail: String)
    /// The refresh failed, and the refresh token was not used. Retry after this time; if it is `nil`, after a growing
    /// pause.
    case later(after: Duration?, detail: String)
    /// The request was sent, but no usable answer came. The refresh token may have been used.
    case ambiguous(detail: String)

    /// The user's claims in the answer; `nil` if there are none.
    package var authentication: Authentication? {
        switch self {
        case .refreshed(_, let authentication): authentication
        case .refreshedInPart(_, let authentication): authentication
        case .ended, .later, .ambiguous: nil
        }
    }
}
