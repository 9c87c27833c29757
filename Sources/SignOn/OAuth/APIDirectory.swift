package import Settings
package import Vocabulary

/// The configured APIs, and the choice of the scopes that clients are granted.
package struct APIDirectory: Sendable {
    /// The scopes that belong to no API: for claims (OpenID Connect Core 5.4) and the refresh token (11).
    package static let ownScopes = [Self.openID, "profile", "email", "phone", "address", Self.offlineAccess]
    package static let openID = "openid"
    /// The scope for listing and ending the user's sessions, for clients that may manage sessions.
    package static let sessions = "sessions"
    package static let offlineAccess = "offline_access"
    /// The lifetime of an access token for no API.
    static let usualLifetime = Duration.seconds(3600)

    private let apis: [String: APISettings]
    /// The API of clients that name no audience. `nil` unless exactly one API is configured.
    private let only: APISettings?

    package init(_ apis: [APISettings]) {
        self.apis = Dictionary(apis.map { ($0.audience, $0) }, uniquingKeysWith: { first, _ in first })
        self.only = apis.count == 1 ? apis[0] : nil
    }

    /// Returns the API that a client requests. If the client names none, returns the only configured API, or `nil` if
    /// none or several are configured. With `nil`, the token is valid at `/userinfo`.
    ///
    /// - Parameter audience: The audience as the client sent it. `nil` if the client sent no audience.
    /// - Throws: `oauth.invalid_target` if no API has this audience.
    package func target(_ audience: String?) throws(NotDone) -> APISettings? {
        guard let audience else { return self.only }
        guard let api = self.apis[audience] else { throw NotDone(.oauthInvalidTarget) }
        return api
    }

    package func lifetime(_ audience: String?) -> Duration {
        audience.flatMap { self.apis[$0]?.lifetime } ?? Self.usualLifetime
    }

    /// Returns the scopes that a client gets, in the order of their definition.
    ///
    /// - Parameters:
    ///   - wanted: The requested scopes. `nil` if all scopes of the API are granted (a documented default, RFC 6749
    ///     3.3).
    ///   - client: The client that gets the scopes.
    ///   - hasRefresh: Whether the grant can yield a refresh token.
    package static func granted(
        _ wanted: [String]?,
        of api: APISettings?,
        to client: ClientSettings,
        hasRefresh: Bool
    ) -> [String] {
        guard let wanted else { return api?.scopes ?? [] }
        let own = Self.ownScopes + (client.managesSessions ? [Self.sessions] : [])
        return (own + (api?.scopes ?? [])).filter { scope in
            wanted.contains(scope) && (hasRefresh || scope != Self.offlineAccess)
        }
    }
}
