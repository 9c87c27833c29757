package import Settings
package import Vocabulary

/// The configured APIs, and what a client is granted of what it asks for.
package struct APIDirectory: Sendable {
    /// The scopes that are not an API's: what the client learns of the user (OpenID Connect Core 5.4), and the refresh
    /// token (11).
    package static let ownScopes = [Self.openID, "profile", "email", "phone", "address", Self.offlineAccess]
    static let openID = "openid"
    package static let offlineAccess = "offline_access"
    /// How long an access token lives that is for no API.
    static let usualLifetime = Duration.seconds(3600)

    private let apis: [String: APISettings]
    /// Used by clients that name no audience.
    private let only: APISettings?

    package init(_ apis: [APISettings]) {
        self.apis = Dictionary(apis.map { ($0.audience, $0) }, uniquingKeysWith: { first, _ in first })
        self.only = apis.count == 1 ? apis[0] : nil
    }

    /// The API that a client asks for; nil: there are several APIs, or none, and the client names none. Then the token serves
    /// at `/userinfo`.
    ///
    /// - Parameter audience: As the client wrote it; nil if it named none.
    /// - Throws: `oauth.invalid_target` if no API has this audience.
    package func target(_ audience: String?) throws(NotDone) -> APISettings? {
        guard let audience else { return self.only }
        guard let api = self.apis[audience] else { throw NotDone(.oauthInvalidTarget) }
        return api
    }

    package func lifetime(_ audience: String?) -> Duration {
        audience.flatMap { self.apis[$0]?.lifetime } ?? Self.usualLifetime
    }

    /// The scopes that a client gets, in the order in which they are defined.
    ///
    /// - Parameters:
    ///   - wanted: What it asked for; nil: all scopes of the API (RFC 6749 3.3: a default that is documented).
    ///   - hasRefresh: Whether the grant can give a refresh token.
    package static func granted(_ wanted: [String]?, of api: APISettings?, hasRefresh: Bool) -> [String] {
        guard let wanted else { return api?.scopes ?? [] }
        return (Self.ownScopes + (api?.scopes ?? [])).filter { scope in
            wanted.contains(scope) && (hasRefresh || scope != Self.offlineAccess)
        }
    }
}
