package import Vocabulary

/// An OAuth client (`clients`).
package struct ClientSettings: Sendable, Equatable {
    package var clientID: String
    /// The names of the providers whose users may sign in. The client exists only on hosts with one of these providers.
    package var providers: [String] = [Realm.default.name]
    /// The client's secrets. Any of them is accepted.
    package var clientSecrets: [Secret] = []
    /// The client's public keys: the content of `jwks_file`, a JWK set.
    package var keySet: [UInt8]?
    /// The only allowed authentication method; `nil` for every method for which the client has a secret or key.
    package var authenticationMethod: ClientAuthenticationMethod?
    package var grantTypes: Set<GrantType> = Set(GrantType.usual)
    /// The URIs to which `/authorize` may redirect users with its answer.
    package var callbacks: [RedirectURI] = []
    /// The web origins that may call the endpoints (CORS) and get answers by `web_message`.
    package var allowedOrigins: [String] = []
    /// The URIs to which users may be redirected after a sign-out that the client requested.
    package var logoutURLs: Set<String> = []
    /// The client's endpoint for logout tokens; `nil` if the client gets no logout tokens.
    package var backchannelLogoutURI: String?
    /// Whether every logout token must name a session (`sid`).
    package var requiresLogoutSession = false
    /// The team and bundle ids of the client's iOS apps.
    package var iosAppIDs: [String] = []
    package var androidApps: [AndroidApp] = []
    /// Whether the settings describe the client as a native app.
    package var isNativeApp = false
    /// The client's page that begins a sign-in (OpenID Connect Core 4).
    package var initiateLoginURI: String?
    package var refreshToken = RefreshTokenSettings()
    /// The social providers whose tokens and codes the client may exchange.
    package var socialLogins: Set<SocialLogin> = []
    /// The bundle id for which Apple issues codes; `nil` if `native_social.apple.bundle_ids` has a single id.
    package var bundleID: String?
    package var trustsAddressField = false
    /// Whether the client's tokens require a DPoP proof and are bound to its key (RFC 9449).
    package var requiresProof = false
    /// Whether the client may get the scope `sessions`, to list and end the sessions of its users.
    package var managesSessions = false
    package var canCreateTransferToken = false
    /// Whether the client may get a refresh token from a sign-in with a transfer token.
    package var allowsRefreshAfterTransfer = false
    /// Whether a refresh token from a sign-in with a transfer token ends with the browser's session.
    package var endsRefreshAfterTransfer = true
    /// Whether sessions and tokens from the client's transfer tokens end with the client's refresh token.
    package var cascades = true
    package var allowsCookie = false
    package var allowsQuery = false
    package var binding = BindingMode.ip
    package var bindingDryRun = false
    /// The idle timeout of the sessions that transfer tokens create for the client; `nil` for `session.transfer.idle`.
    package var transferIdleLifetime: Duration?
    /// The maximum lifetime of the sessions that transfer tokens create for the client; `nil` for
    /// `session.transfer.absolute`.
    package var transferLifetime: Duration?
    package var burnsOnMismatch = true
    package var revokesDerivedOnReplay = false
    /// The device binding of delegated tokens; `nil` if the client accepts no delegated tokens.
    package var delegation: BindingMode?

    package init(clientID: String) {
        self.clientID = clientID
    }

    /// Whether users of `provider` may sign in to the client.
    package func isFor(_ provider: String) -> Bool { self.providers.contains(provider) }

    /// Whether the client exists on hosts with these providers.
    package func isKnown(to providers: [String]) -> Bool { providers.contains(where: self.isFor) }

    /// The authentication methods that the client may use.
    package var authenticationMethods: Set<ClientAuthenticationMethod> {
        if let method = self.authenticationMethod { return [method] }
        let bySecret: Set<ClientAuthenticationMethod> = self.clientSecrets.isEmpty ? [] : [.basic, .post]
        let methods = self.keySet == nil ? bySecret : bySecret.union([.privateKeyJWT])
        return methods.isEmpty ? [.none] : methods
    }

    /// Whether the client has no credentials and sends only its id (RFC 6749 2.1).
    package var isPublic: Bool { self.authenticationMethods == [.none] }
}

/// An Android app and the certificates that sign it.
package struct AndroidApp: Sendable, Equatable {
    package let packageName: String
    /// The SHA-256 fingerprints of the certificates in upper-case hexadecimal with colons, as Google compares them.
    package let fingerprints: [String]

    package init(packageName: String, fingerprints: [String]) {
        self.packageName = packageName
        self.fingerprints = fingerprints
    }
}

/// A grant that a client presents at the token endpoint (`grant_type`).
package enum GrantType: String, Sendable, CaseIterable, SettingWord {
    /// The grant types of a client whose settings list no grant types.
    package static let usual: [GrantType] = [.authorizationCode, .refreshToken, .tokenExchange]

    /// An authorization code (RFC 6749 4.1).
    case authorizationCode = "authorization_code"
    /// A refresh token (RFC 6749 6).
    case refreshToken = "refresh_token"
    /// An id_token from `/authorize` (OpenID Connect Core 3.2). The token endpoint rejects this grant type.
    case implicit
    /// A token that is exchanged for another token (RFC 8693).
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
}

/// The settings of a client's refresh tokens (Auth0's object `refresh_token`).
package struct RefreshTokenSettings: Sendable, Equatable {
    package enum Rotation: String, Sendable, CaseIterable, SettingWord {
        case rotating
        case nonRotating = "non-rotating"
    }

    /// The condition for giving a refresh token to the client.
    package enum Issuing: String, Sendable, CaseIterable, SettingWord {
        /// If the scope `offline_access` was granted (OpenID Connect Core 11).
        case offlineAccess = "offline_access"
        case always
    }

    package var rotation = Rotation.rotating
    /// How long after a rotation the replaced token still gets its successor, in case the answer was lost.
    package var leeway = Duration.seconds(60)
    /// The maximum leeway of a token that is not bound to a key, because a thief could use it.
    private static let longestUnbound = Duration.seconds(60)
    /// The absolute lifetime; `nil` for `session.native.absolute`.
    package var lifetime: Duration?
    /// The idle lifetime; `nil` for `session.native.idle`.
    package var idleLifetime: Duration?
    package var issuing = Issuing.offlineAccess
    /// Whether refresh tokens end with the browser's session in which they were granted.
    package var isOnline = false

    /// Whether the client's tokens end when the user loses access at the provider.
    package enum ProviderUse: String, Sendable, CaseIterable, SettingWord {
        /// The provider is asked from time to time. If it denies access, the client's tokens end.
        case follow
        /// The provider is asked only when the user signs in.
        case ignore
    }

    package var provider = ProviderUse.follow
    /// The minimum time between two questions to the provider about a sign-in whose tokens are used.
    package var confirmEvery = Duration.seconds(900)
    /// The maximum age of the provider's last confirmation of the user. Zero for no limit.
    package var confirmWithin = Duration.zero

    /// Whether the provider is asked from time to time. Online tokens end with the browser's session instead.
    package var follows: Bool { self.provider == .follow && !self.isOnline }

    /// Returns the leeway of a refresh token.
    ///
    /// - Parameter isBound: Whether the token is bound to a key.
    package func leeway(isBound: Bool) -> Duration { isBound ? self.leeway : min(self.leeway, Self.longestUnbound) }
}

/// A social provider whose sign-in kit gives tokens or codes to native apps.
package enum SocialLogin: String, Sendable, CaseIterable {
    case google, apple, facebook

    /// Auth0's name for the provider. It prefixes the ids of users who are known only from the kit
    /// (`google-oauth2|117…`).
    package var connection: String {
        switch self {
        case .google: "google-oauth2"
        case .apple: "apple"
        case .facebook: "facebook"
        }
    }
}
