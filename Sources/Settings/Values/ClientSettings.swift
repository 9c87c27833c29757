package import Vocabulary

/// An OAuth client, with Auth0's `session_transfer` object.
package struct ClientSettings: Sendable, Equatable {
    package var clientID: String
    /// The names of the providers whose users it is for; it is known on the hosts of these providers only.
    package var providers: [String] = [Realm.default.name]
    /// Each is accepted.
    package var clientSecrets: [Secret] = []
    /// The JWK set of its public keys, as it is in the file.
    package var keySet: [UInt8]?
    /// The only method that it may use; nil: any for which it has a secret or key.
    package var authenticationMethod: ClientAuthenticationMethod?
    package var grantTypes: Set<GrantType> = Set(GrantType.usual)
    /// Where users may be sent with a code.
    package var callbacks: [RedirectURI] = []
    /// The origins whose scripts may read what the endpoints answer, and whose pages may get answers by message.
    package var allowedOrigins: [String] = []
    /// Where users may be sent after a sign-out that the client asked for.
    package var logoutURLs: Set<String> = []
    /// The team and bundle ids of its apps for iOS.
    package var iosAppIDs: [String] = []
    package var androidApps: [AndroidApp] = []
    /// Whether what the settings say of it is said of native apps.
    package var isNativeApp = false
    /// The client's page that begins a sign-in.
    package var initiateLoginURI: String?
    package var refreshToken = RefreshTokenSettings()
    /// The social providers whose artefacts it may exchange.
    package var socialLogins: Set<SocialLogin> = []
    /// The bundle id of its iOS app, for Apple's codes; nil: the only one of `native_social.apple`.
    package var bundleID: String?
    package var trustsAddressField = false
    /// Whether it gets tokens only with a proof of a key, and only such as are bound to it (RFC 9449).
    package var requiresProof = false
    package var canCreateTransferToken = false
    /// Whether a sign-in by a transfer token may give it a refresh token.
    package var allowsRefreshAfterTransfer = false
    /// Whether such a refresh token ends with the browser's session in which it was granted.
    package var endsRefreshAfterTransfer = true
    /// Whether the web sessions and tokens that come of its transfer tokens end with its refresh token.
    package var cascades = true
    package var allowsCookie = false
    package var allowsQuery = false
    package var binding = BindingMode.ip
    package var bindingDryRun = false
    package var burnsOnMismatch = true
    package var revokesDerivedOnReplay = false
    /// What must be equal when a delegated token is minted and used; nil: the client takes none.
    package var delegation: BindingMode?

    package init(clientID: String) {
        self.clientID = clientID
    }

    /// Whether it is for users of this provider.
    package func isFor(_ provider: String) -> Bool { self.providers.contains(provider) }

    /// Whether hosts with these providers know it.
    package func isKnown(to providers: [String]) -> Bool { providers.contains(where: self.isFor) }

    /// The methods that it may use.
    package var authenticationMethods: Set<ClientAuthenticationMethod> {
        if let method = self.authenticationMethod { return [method] }
        let bySecret: Set<ClientAuthenticationMethod> = self.clientSecrets.isEmpty ? [] : [.basic, .post]
        let methods = self.keySet == nil ? bySecret : bySecret.union([.privateKeyJWT])
        return methods.isEmpty ? [.none] : methods
    }

    /// Whether it proves itself by nothing: anyone can claim to be it (RFC 6749 2.1).
    package var isPublic: Bool { self.authenticationMethods == [.none] }
}

/// An app for Android, and who signs it.
package struct AndroidApp: Sendable, Equatable {
    package let packageName: String
    /// SHA-256 of the certificates in capitals, with colons, as Google compares them.
    package let fingerprints: [String]

    package init(packageName: String, fingerprints: [String]) {
        self.packageName = packageName
        self.fingerprints = fingerprints
    }
}

/// What a client presents at the token endpoint (`grant_type`).
package enum GrantType: String, Sendable, CaseIterable, SettingWord {
    /// What a client has whose settings do not say.
    package static let usual: [GrantType] = [.authorizationCode, .refreshToken, .tokenExchange]

    /// RFC 6749 4.1
    case authorizationCode = "authorization_code"
    /// RFC 6749 6
    case refreshToken = "refresh_token"
    /// An id_token from `/authorize` (OpenID Connect Core 3.2), which the token endpoint does not take.
    case implicit
    /// RFC 8693
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
}

/// A client's refresh tokens (Auth0's object `refresh_token`).
package struct RefreshTokenSettings: Sendable, Equatable {
    package enum Rotation: String, Sendable, CaseIterable, SettingWord {
        case rotating
        case nonRotating = "non-rotating"
    }

    /// When the client gets a refresh token.
    package enum Issuing: String, Sendable, CaseIterable, SettingWord {
        /// If the scope `offline_access` was granted (OpenID Connect Core 11).
        case offlineAccess = "offline_access"
        case always
    }

    package var rotation = Rotation.rotating
    /// How long after a rotation the former token gets the same new one again.
    package var leeway = Duration.seconds(60)
    /// The longest leeway of a refresh token that is bound to no key: whoever has stolen it can use it.
    private static let longestUnbound = Duration.seconds(60)
    /// nil: `session.native.absolute`.
    package var lifetime: Duration?
    /// nil: `session.native.idle`.
    package var idleLifetime: Duration?
    package var issuing = Issuing.offlineAccess
    /// Whether they end with the browser's session in which they were granted.
    package var isOnline = false

    /// The leeway of a refresh token.
    ///
    /// - Parameter isBound: Whether it is bound to a key.
    package func leeway(isBound: Bool) -> Duration { isBound ? self.leeway : min(self.leeway, Self.longestUnbound) }
}

/// A provider whose sign-in kit gives artefacts to native apps.
package enum SocialLogin: String, Sendable, CaseIterable {
    case google, apple, facebook

    /// The provider's name, as Auth0 spells it. It begins the name of every user whom the kit alone names: `google-oauth2|117…`.
    package var connection: String {
        switch self {
        case .google: "google-oauth2"
        case .apple: "apple"
        case .facebook: "facebook"
        }
    }
}
