package import Vocabulary

/// An OAuth client, with Auth0's `session_transfer` object.
///
/// ## Configuration keys (`clients[]`)
/// - `client_id` (token, required).
/// - `provider` (provider name, default: the first): whose users the client is for.
/// - `client_secret_file` (path): the secret, or two while it is rotated, one a line.
/// - `jwks_file` (path): a JWK set of its public keys, for `private_key_jwt`. Without either the client is public.
/// - `token_endpoint_auth_method` (`client_secret_basic` | `client_secret_post` | `private_key_jwt` | `none`, default: any
///   for which it has a secret or key).
/// - `app_type` (`native` | `spa` | `regular_web` | `non_interactive`): only compared with the above.
/// - `callbacks` (list of URIs, default: none): where users may be sent with a code.
/// - `allowed_origins` (list of origins, default: none): whose scripts may use the token, revocation and userinfo
///   endpoints, and whose pages may get answers of `/authorize` by message.
/// - `allowed_logout_urls` (list of URIs, default: none): where users may be sent after a sign-out.
/// - `initiate_login_uri` (URL, default: none): the client's page that begins a sign-in.
/// - `grant_types` (list, default: all but `implicit`): what the client may present at the token endpoint.
/// - `refresh_token` (map): `rotation_type`, `leeway`, `token_lifetime`, `idle_token_lifetime`, `issued`,
///   `enforce_online_refresh_tokens`.
/// - `native_social_login` (map): `google.enabled`, `apple.enabled`, `facebook.enabled` (boolean, default: false).
/// - `mobile.ios.app_bundle_identifier` (text): the bundle id of its iOS app.
/// - `is_token_endpoint_ip_header_trusted` (boolean, default: false): take the user's address from
///   `auth0-forwarded-for`; only with a secret.
/// - `session_transfer.can_create_session_transfer_token` (boolean, default: false).
/// - `session_transfer.allowed_authentication_methods` (list of `cookie`, `query`; default: none).
/// - `session_transfer.enforce_device_binding` (`none` | `ip` | `asn` | `ip_dual_stack` | `ip_or_asn`,
///   default: ip).
/// - `session_transfer.enforce_cascade_revocation` (boolean, default: true): what came of its transfer tokens ends with its
///   refresh token.
/// - `session_transfer.allow_refresh_token` (boolean, default: false): a sign-in by a transfer token may give one.
/// - `session_transfer.enforce_online_refresh_tokens` (boolean, default: true): that one ends with the browser's session.
/// - `session_transfer.binding_dry_run` (boolean, default: false): check and count, but do not enforce.
/// - `session_transfer.on_mismatch` (`burn` | `keep`, default: burn).
/// - `session_transfer.on_replay` (`refuse` | `revoke_derived`, default: refuse).
/// - `session_transfer.delegation.allow_delegated_access` (boolean, default: false): take delegated tokens.
/// - `session_transfer.delegation.enforce_device_binding` (`ip` | `asn`, default: ip): their binding, always enforced.
package struct ClientSettings: Sendable, Equatable {
    package var clientID: String
    /// The name of the provider whose users it is for; it is known on the hosts of that provider only.
    package var provider: String
    /// Each is accepted.
    package var clientSecrets: [Secret]
    /// The JWK set of its public keys, as it is in the file.
    package var keySet: [UInt8]?
    /// The only method that it may use; nil: any for which it has a secret or key.
    package var authenticationMethod: ClientAuthenticationMethod?
    package var grantTypes: Set<GrantType>
    /// Where users may be sent with a code.
    package var callbacks: [RedirectURI]
    /// The origins whose scripts may read what the endpoints answer, and whose pages may get answers by message.
    package var allowedOrigins: [String]
    /// Where users may be sent after a sign-out that the client asked for.
    package var logoutURLs: Set<String>
    /// The client's page that begins a sign-in.
    package var initiateLoginURI: String?
    package var refreshToken: RefreshTokenSettings
    /// The social providers whose artefacts it may exchange.
    package var socialLogins: Set<SocialLogin>
    /// The bundle id of its iOS app, for Apple's codes; nil: the only one of `native_social.apple`.
    package var bundleID: String?
    package var trustsAddressField: Bool
    /// Whether it gets tokens only with a proof of a key, and only such as are bound to it (RFC 9449).
    package var requiresProof: Bool
    package var canCreateTransferToken: Bool
    /// Whether a sign-in by a transfer token may give it a refresh token.
    package var allowsRefreshAfterTransfer: Bool
    /// Whether such a refresh token ends with the browser's session in which it was granted.
    package var endsRefreshAfterTransfer: Bool
    /// Whether the web sessions and tokens that come of its transfer tokens end with its refresh token.
    package var cascades: Bool
    package var allowsCookie: Bool
    package var allowsQuery: Bool
    package var binding: BindingMode
    package var bindingDryRun: Bool
    package var burnsOnMismatch: Bool
    package var revokesDerivedOnReplay: Bool
    /// What must be equal when a delegated token is minted and used; nil: the client takes none.
    package var delegation: BindingMode?

    package init(clientID: String) {
        self.clientID = clientID
        self.provider = Realm.default.name
        self.clientSecrets = []
        self.keySet = nil
        self.authenticationMethod = nil
        self.grantTypes = Set(GrantType.usual)
        self.callbacks = []
        self.allowedOrigins = []
        self.logoutURLs = []
        self.initiateLoginURI = nil
        self.refreshToken = RefreshTokenSettings()
        self.socialLogins = []
        self.bundleID = nil
        self.trustsAddressField = false
        self.requiresProof = false
        self.canCreateTransferToken = false
        self.allowsRefreshAfterTransfer = false
        self.endsRefreshAfterTransfer = true
        self.cascades = true
        self.allowsCookie = false
        self.allowsQuery = false
        self.binding = .ip
        self.bindingDryRun = false
        self.burnsOnMismatch = true
        self.revokesDerivedOnReplay = false
        self.delegation = nil
    }

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

/// What a client presents at the token endpoint (`grant_type`).
package enum GrantType: String, Sendable, CaseIterable {
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
    package enum Rotation: String, Sendable, CaseIterable {
        case rotating
        case nonRotating = "non-rotating"
    }

    /// When the client gets a refresh token.
    package enum Issuing: String, Sendable, CaseIterable {
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

    package init() {}

    /// The leeway of a refresh token.
    ///
    /// - Parameter isBound: Whether it is bound to a key.
    package func leeway(isBound: Bool) -> Duration { isBound ? self.leeway : min(self.leeway, Self.longestUnbound) }
}

/// A provider whose sign-in kit gives artefacts to native apps.
package enum SocialLogin: String, Sendable, CaseIterable { case google, apple, facebook }
