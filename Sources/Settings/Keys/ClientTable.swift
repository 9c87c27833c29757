import Vocabulary

extension Section {
    static let client = Section([
        SettingsKey("client_id", .text(.clientID), required: true, "The client's id, as it sends it."),
        SettingsKey(
            "provider",
            .text(.providerName),
            default: "the first of providers, and those beside it on a host",
            "Whose users the client is for; the client is known on the hosts of that provider only."
        ),
        SettingsKey("providers", .list(.text(.providerName)), default: "provider alone", "The same of several."),
        SettingsKey(
            "client_secret_file",
            .path(isSecret: true),
            default: "none",
            "The file with the client's secret, or two while it is rotated, one a line; without it and jwks_file the client is public."
        ),
        SettingsKey(
            "jwks_file",
            .path(isSecret: false),
            default: "none",
            "A JWK set with the client's public keys, whose private keys sign what it proves itself with (private_key_jwt)."
        ),
        SettingsKey(
            "token_endpoint_auth_method",
            at: \ClientSettings.authenticationMethod,
            default: "any for which the client has a secret or key, else none",
            "The only way in which the client may prove itself."
        ),
        SettingsKey(
            "app_type",
            .choice(["native", "spa", "regular_web", "non_interactive"]),
            "Auth0's type of the app; a native or spa client is public, because everybody could read its secret."
        ),
        SettingsKey(
            "callbacks",
            at: \ClientSettings.callbacks,
            .list(.text(.redirectURI)),
            default: "none",
            "Where users may be sent with a code: compared character by character, on loopback with any port."
        ),
        SettingsKey(
            "allowed_origins",
            at: \ClientSettings.allowedOrigins,
            .list(.text(.webOrigin)),
            default: "none",
            "Origins whose scripts may use the token, revocation and userinfo endpoints, and whose pages may get answers of /authorize by response_mode=web_message."
        ),
        SettingsKey(
            "allowed_logout_urls",
            at: \ClientSettings.logoutURLs,
            .list(.text(.redirectURI)),
            default: "none",
            "Where users may be sent after a sign-out that the client asked for: compared character by character."
        ),
        SettingsKey(
            "ios_app_ids",
            at: \ClientSettings.iosAppIDs,
            .list(.text(.iosAppID)),
            default: "none",
            "The client's apps for iOS, which may take its https callbacks on hosts with well_known: true."
        ),
        SettingsKey(
            "android_apps",
            .sections(.androidApp),
            "The client's apps for Android, which may take its https callbacks on hosts with well_known: true."
        ),
        SettingsKey(
            "initiate_login_uri",
            at: \ClientSettings.initiateLoginURI,
            .text(.loginPage),
            default: "none",
            "The client's page that begins a sign-in, to which the page of a pushed request that has ended leads."
        ),
        SettingsKey(
            "grant_types",
            at: \ClientSettings.grantTypes,
            .list(.choice(GrantType.allCases.map(\.rawValue))),
            default: GrantType.usual.map(\.rawValue).joined(separator: ", "),
            "What the client may present at the token endpoint; implicit: it may get an id_token from /authorize."
        ),
        SettingsKey(
            "refresh_token",
            .section(.refreshToken),
            "The client's refresh tokens; it gets one where the scope offline_access was granted."
        ),
        SettingsKey(
            "native_social_login",
            .section(.nativeSocialLogin),
            "Auth0's object of this name: the sign-in kits from which the client may exchange what they give to it."
        ),
        SettingsKey("mobile", .section(.mobile), "Auth0's object of this name."),
        SettingsKey(
            "is_token_endpoint_ip_header_trusted",
            at: \ClientSettings.trustsAddressField,
            "Take the user's address from auth0-forwarded-for; only for a client that proves itself, whose server asks for its users."
        ),
        SettingsKey(
            "require_proof_of_possession",
            at: \ClientSettings.requiresProof,
            "Give tokens only to a client that proves a key (DPoP), and bind them to that key."
        ),
        SettingsKey(
            "session_transfer",
            .section(.sessionTransfer),
            "Auth0's object of this name, and three additional keys."
        ),
    ])

    private static let nativeSocialLogin = Section(
        SocialLogin.allCases.map { login in
            SettingsKey(login.rawValue, .section(.socialLogin), "The kit of native_social.\(login.rawValue).")
        }
    )

    private static let socialLogin = Section([
        SettingsKey("enabled", .boolean, default: "false", "Whether the client may exchange it.")
    ])

    private static let mobile = Section([
        SettingsKey("ios", .section(.ios), "The client's app for iOS.")
    ])

    private static let ios = Section([
        SettingsKey(
            "app_bundle_identifier",
            at: \ClientSettings.bundleID,
            .text(.text),
            default: "the only one of native_social.apple.bundle_ids",
            "The app's bundle id, for which Apple issues its codes."
        )
    ])

    private static let androidApp = Section([
        SettingsKey("package", .text(.androidPackage), required: true, "The app's package (applicationId)."),
        SettingsKey(
            "sha256_cert_fingerprints",
            .list(.text(.certificateFingerprint)),
            required: true,
            "SHA-256 of each certificate that signs the app: also that of Play App Signing, which signs what users install."
        ),
    ])

    private static let refreshToken = Section([
        SettingsKey(
            "rotation_type",
            at: \ClientSettings.refreshToken.rotation,
            "Whether each use gives a new refresh token; a public client's must rotate, so that a stolen one is noticed."
        ),
        SettingsKey(
            "leeway",
            at: \ClientSettings.refreshToken.leeway,
            .duration(.zero ... .seconds(600)),
            default: "60s",
            "How long after a rotation the former refresh token gets the same new one again, for lost answers; more than 60s counts for tokens bound to a key."
        ),
        SettingsKey(
            "token_lifetime",
            at: \ClientSettings.refreshToken.lifetime,
            .duration(.seconds(60) ... .seconds(366 * 86400)),
            default: "session.native.absolute",
            "The longest time without a new sign-in."
        ),
        SettingsKey(
            "idle_token_lifetime",
            at: \ClientSettings.refreshToken.idleLifetime,
            .duration(.seconds(60) ... .seconds(366 * 86400)),
            default: "session.native.idle",
            "A refresh token that is not used for this long has ended."
        ),
        SettingsKey(
            "issued",
            at: \ClientSettings.refreshToken.issuing,
            "When the client gets one: if the scope offline_access was granted, or always."
        ),
        SettingsKey(
            "enforce_online_refresh_tokens",
            at: \ClientSettings.refreshToken.isOnline,
            "Refresh tokens end with the browser's session in which they were granted, and so with the provider's."
        ),
    ])

    private static let sessionTransfer = Section([
        SettingsKey(
            "can_create_session_transfer_token",
            at: \ClientSettings.canCreateTransferToken,
            "Native clients: whether they may mint tokens."
        ),
        SettingsKey(
            "allowed_authentication_methods",
            .list(.choice(["cookie", "query"])),
            default: "none",
            "Web clients: where the token is accepted; the cookie takes precedence."
        ),
        SettingsKey(
            "enforce_device_binding",
            at: \ClientSettings.binding,
            "Web clients: what must be equal when the token is minted and used; the guide NativeApps/DeviceBinding.md has a table."
        ),
        SettingsKey(
            "binding_dry_run",
            at: \ClientSettings.bindingDryRun,
            "Check the binding and count the result, but do not enforce it."
        ),
        SettingsKey(
            "on_mismatch",
            .choice(["burn", "keep"]),
            default: "burn",
            "What happens to the token when the wrong device presents it."
        ),
        SettingsKey(
            "on_replay",
            .choice(["refuse", "revoke_derived"]),
            default: "refuse",
            "What a second use of the token does; revoke_derived also ends the session that the first use made."
        ),
        SettingsKey(
            "enforce_cascade_revocation",
            at: \ClientSettings.cascades,
            "Native clients: web sessions and tokens that came of its transfer tokens end when its refresh token is revoked."
        ),
        SettingsKey(
            "allow_refresh_token",
            at: \ClientSettings.allowsRefreshAfterTransfer,
            "Web clients: whether a sign-in by a transfer token may give a refresh token."
        ),
        SettingsKey(
            "enforce_online_refresh_tokens",
            at: \ClientSettings.endsRefreshAfterTransfer,
            "Web clients: such a refresh token ends with the browser's session in which it was granted."
        ),
        SettingsKey("delegation", .section(.delegation), "Web clients: tokens by which somebody acts for a user."),
    ])

    private static let delegation = Section([
        SettingsKey(
            "allow_delegated_access",
            .boolean,
            default: "false",
            "Whether it takes such tokens; their sessions name the actor and last two hours at most."
        ),
        SettingsKey(
            "enforce_device_binding",
            .choice(["ip", "asn"]),
            default: "ip",
            "What must be equal when such a token is minted and used; binding_dry_run does not apply."
        ),
    ])

    static let api = Section([
        SettingsKey("audience", .text(.audience), required: true, "The API's name, as clients ask for it."),
        SettingsKey(
            "scopes",
            at: \APISettings.scopes,
            .list(.text(.scope)),
            default: "none",
            "The scopes that its access tokens can have; a client that names none gets all of them."
        ),
        SettingsKey(
            "lifetime",
            at: \APISettings.lifetime,
            .duration(.seconds(60) ... .seconds(86400)),
            "How long an access token lives."
        ),
        SettingsKey(
            "routes",
            at: \APISettings.routes,
            .list(.text(.text)),
            default: "none",
            "The names of the routes that accept its access tokens; other routes refuse them."
        ),
        SettingsKey(
            "resource_servers",
            at: \APISettings.resourceServers,
            .list(.text(.clientID)),
            default: "none",
            "The clients, not public ones, that may introspect its access tokens: servers of the API."
        ),
    ])
}
