import Vocabulary

extension Section {
    static let client = Section([
        SettingsKey("client_id", .text(.clientID), required: true, "The client's id, as the client sends it."),
        SettingsKey(
            "provider",
            .text(.providerName),
            default: "the first of providers, and those that share a host with it",
            "The provider whose users the client serves. Only the hosts of this provider know the client."
        ),
        SettingsKey(
            "providers",
            .list(.text(.providerName)),
            default: "the one in provider",
            "Several providers whose users the client serves, instead of provider."
        ),
        SettingsKey(
            "client_secret_file",
            .path(isSecret: true),
            default: "none",
            "The file with the client's secret, or with two secrets, one per line, during a rotation. Without this key and jwks_file the client is public."
        ),
        SettingsKey(
            "jwks_file",
            .path(isSecret: false),
            default: "none",
            "A JWK set with the client's public keys. The client authenticates with its private keys (private_key_jwt)."
        ),
        SettingsKey(
            "token_endpoint_auth_method",
            at: \ClientSettings.authenticationMethod,
            default: "any for which the client has a secret or key, otherwise none",
            "The only method with which the client may authenticate."
        ),
        SettingsKey(
            "app_type",
            .choice(["native", "spa", "regular_web", "non_interactive"]),
            "The type of the app, as in Auth0. A native or spa client is public, because everybody could read its secret."
        ),
        SettingsKey(
            "callbacks",
            at: \ClientSettings.callbacks,
            .list(.text(.redirectURI)),
            default: "none",
            "The URIs to which users may be redirected with a code. They are compared character by character; on loopback, any port is allowed."
        ),
        SettingsKey(
            "allowed_origins",
            at: \ClientSettings.allowedOrigins,
            .list(.text(.webOrigin)),
            default: "none",
            "Origins whose scripts may use the token, revocation and userinfo endpoints, and whose pages may get answers of /authorize with response_mode=web_message."
        ),
        SettingsKey(
            "allowed_logout_urls",
            at: \ClientSettings.logoutURLs,
            .list(.text(.redirectURI)),
            default: "none",
            "The URLs to which users may be redirected after a sign-out that the client requested. They are compared character by character."
        ),
        SettingsKey(
            "backchannel_logout_uri",
            at: \ClientSettings.backchannelLogoutURI,
            .text(.logoutURL),
            default: "none",
            "The client's URL for logout tokens. When a user's session ends before it expires, the gateway posts one there (OpenID Connect Back-Channel Logout)."
        ),
        SettingsKey(
            "backchannel_logout_session_required",
            at: \ClientSettings.requiresLogoutSession,
            "Names one session (sid) in every logout token. By default, if all sessions of a user end, the client gets one token without sid instead."
        ),
        SettingsKey(
            "ios_app_ids",
            at: \ClientSettings.iosAppIDs,
            .list(.text(.iosAppID)),
            default: "none",
            "The client's iOS apps, which may open its https callbacks on hosts with well_known: true."
        ),
        SettingsKey(
            "android_apps",
            .sections(.androidApp),
            "The client's Android apps, which may open its https callbacks on hosts with well_known: true."
        ),
        SettingsKey(
            "initiate_login_uri",
            at: \ClientSettings.initiateLoginURI,
            .text(.loginPage),
            default: "none",
            "The client's page that begins a sign-in. The page of a pushed request that has expired links to it."
        ),
        SettingsKey(
            "grant_types",
            at: \ClientSettings.grantTypes,
            .list(.choice(GrantType.allCases.map(\.rawValue))),
            default: GrantType.usual.map(\.rawValue).joined(separator: ", "),
            "The grants that the client may use at the token endpoint. With implicit it may get an id_token from /authorize."
        ),
        SettingsKey(
            "refresh_token",
            .section(.refreshToken),
            "The client's refresh tokens. By default the client gets one if the scope offline_access was granted."
        ),
        SettingsKey(
            "native_social_login",
            .section(.nativeSocialLogin),
            "Auth0's object of this name: the sign-in kits whose tokens and codes the client may exchange."
        ),
        SettingsKey("mobile", .section(.mobile), "Auth0's object of this name: the client's mobile app."),
        SettingsKey(
            "is_token_endpoint_ip_header_trusted",
            at: \ClientSettings.trustsAddressField,
            "Takes the user's address from auth0-forwarded-for. This is only for a client that authenticates and whose server makes requests for its users."
        ),
        SettingsKey(
            "require_proof_of_possession",
            at: \ClientSettings.requiresProof,
            "Issues tokens to the client only with a proof of possession of a key (DPoP), and binds them to that key."
        ),
        SettingsKey(
            "manage_sessions",
            at: \ClientSettings.managesSessions,
            "Lets the client request the scope sessions, with which it lists and ends its users' sessions. Only for your own apps."
        ),
        SettingsKey(
            "session_transfer",
            .section(.sessionTransfer),
            "Auth0's object of this name, with four additional keys."
        ),
    ])

    private static let nativeSocialLogin = Section(
        SocialLogin.allCases.map { login in
            SettingsKey(login.rawValue, .section(.socialLogin), "The kit of native_social.\(login.rawValue).")
        }
    )

    private static let socialLogin = Section([
        SettingsKey(
            "enabled",
            .boolean,
            default: "false",
            "Whether the client may exchange what it gets from this kit."
        )
    ])

    private static let mobile = Section([
        SettingsKey("ios", .section(.ios), "The client's iOS app.")
    ])

    private static let ios = Section([
        SettingsKey(
            "app_bundle_identifier",
            at: \ClientSettings.bundleID,
            .text(.text),
            default: "the only one of native_social.apple.bundle_ids",
            "The app's bundle id, for which Apple issues codes."
        )
    ])

    private static let androidApp = Section([
        SettingsKey("package", .text(.androidPackage), required: true, "The app's package (applicationId)."),
        SettingsKey(
            "sha256_cert_fingerprints",
            .list(.text(.certificateFingerprint)),
            required: true,
            "The SHA-256 fingerprint of each certificate that signs the app, including the one of Play App Signing, which signs what users install."
        ),
    ])

    private static let refreshToken = Section([
        SettingsKey(
            "rotation_type",
            at: \ClientSettings.refreshToken.rotation,
            "Whether each use of a refresh token issues a new one. The tokens of a public client must rotate, so that a stolen one is noticed."
        ),
        SettingsKey(
            "leeway",
            at: \ClientSettings.refreshToken.leeway,
            .duration(.zero ... .seconds(600)),
            default: "60s",
            "How long after a rotation the old refresh token gets its successor again, in case an answer was lost. More than 60s applies only to tokens that are bound to a key."
        ),
        SettingsKey(
            "token_lifetime",
            at: \ClientSettings.refreshToken.lifetime,
            .duration(.seconds(60) ... .seconds(366 * 86400)),
            default: "session.native.absolute",
            "The longest time that refresh tokens are valid without a new sign-in."
        ),
        SettingsKey(
            "idle_token_lifetime",
            at: \ClientSettings.refreshToken.idleLifetime,
            .duration(.seconds(60) ... .seconds(366 * 86400)),
            default: "session.native.idle",
            "A refresh token expires if it is not used for this long."
        ),
        SettingsKey(
            "issued",
            at: \ClientSettings.refreshToken.issuing,
            "When the client gets a refresh token: only if the scope offline_access was granted, or always."
        ),
        SettingsKey(
            "enforce_online_refresh_tokens",
            at: \ClientSettings.refreshToken.isOnline,
            "Refresh tokens end with the browser session in which they were granted, and therefore with the provider's session."
        ),
        SettingsKey(
            "provider",
            at: \ClientSettings.refreshToken.provider,
            "follow asks the user's provider while the client uses its tokens, and ends them if the user has lost access there; ignore asks it only at sign-in."
        ),
        SettingsKey(
            "confirm_every",
            at: \ClientSettings.refreshToken.confirmEvery,
            .duration(.seconds(60) ... .seconds(86400)),
            "How often the provider is asked at most for one sign-in. A user who loses access there is signed out within this time of the next use."
        ),
        SettingsKey(
            "confirm_within",
            at: \ClientSettings.refreshToken.confirmWithin,
            .duration(.seconds(60) ... .seconds(90 * 86400), orOff: true),
            "How long the client gets tokens although the provider cannot be asked. At least confirm_every; off sets no limit."
        ),
    ])

    private static let sessionTransfer = Section([
        SettingsKey(
            "can_create_session_transfer_token",
            at: \ClientSettings.canCreateTransferToken,
            "For native clients: whether the client may mint session-transfer tokens."
        ),
        SettingsKey(
            "allowed_authentication_methods",
            .list(.choice(["cookie", "query"])),
            default: "none",
            "For web clients: where session-transfer tokens are accepted. The cookie takes precedence."
        ),
        SettingsKey(
            "enforce_device_binding",
            at: \ClientSettings.binding,
            "For web clients: what must match when the token is minted and used. The guide NativeApps/DeviceBinding.md has a table."
        ),
        SettingsKey(
            "binding_dry_run",
            at: \ClientSettings.bindingDryRun,
            "Checks the binding and counts the result, but does not enforce it."
        ),
        SettingsKey(
            "on_mismatch",
            .choice(["burn", "keep"]),
            default: "burn",
            "What happens to the token if the wrong device presents it: burn uses it up, keep leaves it valid."
        ),
        SettingsKey(
            "on_replay",
            .choice(["refuse", "revoke_derived"]),
            default: "refuse",
            "What a second use of the token does: refuse rejects it, revoke_derived also ends the session that the first use created."
        ),
        SettingsKey(
            "enforce_cascade_revocation",
            at: \ClientSettings.cascades,
            "For native clients: web sessions and tokens from the client's transfer tokens end when its refresh token is revoked."
        ),
        SettingsKey(
            "allow_refresh_token",
            at: \ClientSettings.allowsRefreshAfterTransfer,
            "For web clients: whether a sign-in with a transfer token may issue a refresh token."
        ),
        SettingsKey(
            "enforce_online_refresh_tokens",
            at: \ClientSettings.endsRefreshAfterTransfer,
            "For web clients: a refresh token from a transfer ends with the browser session in which it was granted."
        ),
        SettingsKey(
            "lifetimes",
            .section(.sessionLifetimes),
            "For web clients: shorter sessions from transfer tokens than session.transfer allows."
        ),
        SettingsKey(
            "delegation",
            .section(.delegation),
            "For web clients: transfer tokens with which somebody acts for a user."
        ),
    ])

    private static let sessionLifetimes = Section([
        SettingsKey(
            "idle",
            at: \ClientSettings.transferIdleLifetime,
            .duration(.seconds(60) ... .seconds(30 * 86400)),
            default: "session.transfer.idle",
            "The session expires if it is not used for this long. At most session.transfer.idle."
        ),
        SettingsKey(
            "absolute",
            at: \ClientSettings.transferLifetime,
            .duration(.seconds(60) ... .seconds(365 * 86400)),
            default: "session.transfer.absolute",
            "The session expires after this long, even if it is used. At most session.transfer.absolute."
        ),
    ])

    private static let delegation = Section([
        SettingsKey(
            "allow_delegated_access",
            .boolean,
            default: "false",
            "Whether the client accepts delegated tokens. Their sessions name the actor and last at most two hours."
        ),
        SettingsKey(
            "enforce_device_binding",
            .choice(["ip", "asn"]),
            default: "ip",
            "What must match when a delegated token is minted and used. binding_dry_run does not apply."
        ),
    ])

    static let api = Section([
        SettingsKey("audience", .text(.audience), required: true, "The API's name, as clients request it."),
        SettingsKey(
            "scopes",
            at: \APISettings.scopes,
            .list(.text(.scope)),
            default: "none",
            "The scopes that the API's access tokens can have. A client that requests none gets all of them."
        ),
        SettingsKey(
            "lifetime",
            at: \APISettings.lifetime,
            .duration(.seconds(60) ... .seconds(86400)),
            "How long an access token is valid."
        ),
        SettingsKey(
            "routes",
            at: \APISettings.routes,
            .list(.text(.text)),
            default: "none",
            "The names of the routes that accept the API's access tokens. Other routes reject them."
        ),
        SettingsKey(
            "resource_servers",
            at: \APISettings.resourceServers,
            .list(.text(.clientID)),
            default: "none",
            "The clients that may introspect the API's access tokens: servers of the API, which cannot be public clients."
        ),
    ])
}
