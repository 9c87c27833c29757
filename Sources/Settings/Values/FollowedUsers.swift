/// The way in which the gateway learns, after a sign-in, whether the user still has access at the provider.
package enum UserConfirmation: String, Sendable {
    case refreshToken = "by refresh token"
    case refreshTokenOrUserinfo =
        "by refresh token if the provider issues one, otherwise by userinfo until the token ends"
    case refreshTokenIfAny = "by refresh token if the provider issues one, otherwise not at all"
    case userinfo = "by userinfo until the token ends"
    case whoami = "by whoami"
    case file = "by the static file"
    case unasked = "not at all"
}

/// How the users of each client are followed (`refresh_token.provider`), for `sallyport check`.
package struct FollowedUsers: Sendable {
    /// One line for each provider and kit of each client that keeps users signed in, such as
    /// `ios, users of okta: by refresh token`.
    package private(set) var lines: [String] = []
    package private(set) var warnings: [String] = []
    /// The names of the providers whose users some client follows.
    package private(set) var providers: Set<String> = []

    package init(_ settings: Settings) {
        for (index, client) in settings.clients.enumerated() where client.keepsUsers {
            for provider in settings.providers where provider.settings.signsIn && client.isFor(provider.name) {
                let way = provider.settings.confirmation
                let users = settings.providers.count > 1 ? "users of \(provider.name)" : nil
                let name = ([client.clientID] + [users].compactMap(\.self)).joined(separator: ", ")
                self.lines.append("\(name): \(client.refreshToken.exception ?? way.rawValue)")
                guard client.refreshToken.follows else { continue }
                self.providers.insert(provider.name)
                if way == .unasked { self.warn(of: client, at: index, users ?? "users") }
            }
            for kit in SocialLogin.allCases where client.socialLogins.contains(kit) {
                let users = "users of \(kit.connection) (native_social)"
                let way = UserConfirmation.unasked.rawValue
                self.lines.append("\(client.clientID), \(users): \(client.refreshToken.exception ?? way)")
                if client.refreshToken.follows { self.warn(of: client, at: index, users) }
            }
        }
        for provider in settings.providers where self.providers.contains(provider.name) {
            guard let oidc = provider.settings as? OpenIDSettings, oidc.isGoogle, !oidc.isOffline else { continue }
            self.warnings.append(
                "provider.oidc.parameters: Google issues refresh tokens only with {access_type: offline}; without them, "
                    + "its users are followed only until their access tokens end"
            )
        }
    }

    private mutating func warn(of client: ClientSettings, at index: Int, _ users: String) {
        guard client.refreshToken.confirmWithin == .zero else { return }
        self.warnings.append(
            "clients[\(index)].refresh_token: \(users) keep their access to \(client.clientID) after they lose their "
                + "account, because nobody can be asked about them; set confirm_within, so that they sign in again"
        )
    }
}

extension ClientSettings {
    /// Whether the client keeps users signed in, by refresh tokens or by session-transfer tokens.
    fileprivate var keepsUsers: Bool { self.grantTypes.contains(.refreshToken) || self.canCreateTransferToken }
}

extension RefreshTokenSettings {
    /// Why the client does not follow its users itself; `nil` if it follows them.
    fileprivate var exception: String? {
        if self.isOnline { return "with the browser's session (enforce_online_refresh_tokens)" }
        return self.follows ? nil : "\(UserConfirmation.unasked.rawValue) (refresh_token.provider: ignore)"
    }
}

extension OpenIDSettings {
    fileprivate var isGoogle: Bool { GoogleSettings.issuers.contains(self.issuer) }

    /// Whether the gateway requests refresh tokens in the provider's way.
    fileprivate var isOffline: Bool {
        guard self.isGoogle else { return self.authorization.requestsOfflineAccess }
        return self.authorization.parameters.contains { $0.name == "access_type" && $0.value == "offline" }
    }

    package var confirmation: UserConfirmation {
        if self.isOffline { return .refreshToken }
        // Google issues refresh tokens only with `access_type: offline`. Other providers, such as Keycloak, may issue
        // them without `offline_access`.
        if self.isGoogle { return self.userinfo == .off ? .unasked : .userinfo }
        return self.userinfo == .off ? .refreshTokenIfAny : .refreshTokenOrUserinfo
    }
}

extension OAuth2Settings {
    package var confirmation: UserConfirmation {
        self.authorization.requestsOfflineAccess ? .refreshToken : .refreshTokenOrUserinfo
    }
}

extension AuthorizationRequestSettings {
    /// Whether the gateway requests the scope `offline_access` (OpenID Connect Core 11).
    package var requestsOfflineAccess: Bool { self.scopes.contains("offline_access") }
}
