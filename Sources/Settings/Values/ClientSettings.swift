package import Vocabulary

/// An OAuth client, with Auth0's `session_transfer` object.
///
/// ## Configuration keys (`clients[]`)
/// - `client_id` (token, required).
/// - `client_secret_file` (path): the secret, or two while it is rotated, one a line; without it the client is public.
/// - `callbacks` (list of URIs, default: none): where users may be sent with a code.
/// - `grant_types` (list, default: all but `implicit`): what the client may present at the token endpoint.
/// - `refresh_token` (map): `rotation_type`, `leeway`, `token_lifetime`, `idle_token_lifetime`, `issued`.
/// - `native_social_login` (map): `google.enabled`, `apple.enabled`, `facebook.enabled` (boolean, default: false).
/// - `mobile.ios.app_bundle_identifier` (text): the bundle id of its iOS app.
/// - `is_token_endpoint_ip_header_trusted` (boolean, default: false): take the user's address from
///   `auth0-forwarded-for`; only with a secret.
/// - `session_transfer.can_create_session_transfer_token` (boolean, default: false).
/// - `session_transfer.allowed_authentication_methods` (list of `cookie`, `query`; default: none).
/// - `session_transfer.enforce_device_binding` (`none` | `ip` | `asn` | `ip_dual_stack` | `ip_or_asn`,
///   default: ip).
/// - `session_transfer.allow_refresh_token` (boolean, default: false): a sign-in by a transfer token may give one.
/// - `session_transfer.binding_dry_run` (boolean, default: false): check and count, but do not enforce.
/// - `session_transfer.on_mismatch` (`burn` | `keep`, default: burn).
/// - `session_transfer.on_replay` (`refuse` | `revoke_derived`, default: refuse).
package struct ClientSettings: Sendable, Equatable {
    package var clientID: String
    /// Each is accepted; none: the client is public.
    package var clientSecrets: [Secret]
    package var grantTypes: Set<GrantType>
    /// Where users may be sent with a code.
    package var callbacks: [RedirectURI]
    package var refreshToken: RefreshTokenSettings
    /// The social providers whose artefacts it may exchange.
    package var socialLogins: Set<SocialLogin>
    /// The bundle id of its iOS app, for Apple's codes; nil: the only one of `native_social.apple`.
    package var bundleID: String?
    package var trustsAddressField: Bool
    package var canCreateTransferToken: Bool
    /// Whether a sign-in by a transfer token may give it a refresh token.
    package var allowsRefreshAfterTransfer: Bool
    package var allowsCookie: Bool
    package var allowsQuery: Bool
    package var binding: BindingMode
    package var bindingDryRun: Bool
    package var burnsOnMismatch: Bool
    package var revokesDerivedOnReplay: Bool

    package init(clientID: String) {
        self.clientID = clientID
        self.clientSecrets = []
        self.grantTypes = Set(GrantType.usual)
        self.callbacks = []
        self.refreshToken = RefreshTokenSettings()
        self.socialLogins = []
        self.bundleID = nil
        self.trustsAddressField = false
        self.canCreateTransferToken = false
        self.allowsRefreshAfterTransfer = false
        self.allowsCookie = false
        self.allowsQuery = false
        self.binding = .ip
        self.bindingDryRun = false
        self.burnsOnMismatch = true
        self.revokesDerivedOnReplay = false
    }
    /// Whether it has no secret: anyone can claim to be it (RFC 6749 2.1).
    package var isPublic: Bool { self.clientSecrets.isEmpty }
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
    /// nil: `session.native.absolute`.
    package var lifetime: Duration?
    /// nil: `session.native.idle`.
    package var idleLifetime: Duration?
    package var issuing = Issuing.offlineAccess

    package init() {}
}

/// A provider whose sign-in kit gives artefacts to native apps.
package enum SocialLogin: String, Sendable, CaseIterable { case google, apple, facebook }
