import Vocabulary

private let day: Duration = .seconds(86_400)

extension Section {
    static let openID = Section(
        [
            SettingsKey(
                "issuer",
                .text(.issuer),
                required: true,
                environment: "SALLYPORT_OIDC_URL",
                "The provider's URL, byte for byte as in iss. Some providers end it with a slash."
            )
        ] + Self.clientKeys(id: "SALLYPORT_OIDC_CLIENT_ID", secretFile: "SALLYPORT_OIDC_CLIENT_SECRET_FILE") + [
            Self.authorities,
            Self.scopes(default: "openid, profile, email"),
            Self.prompt,
            SettingsKey(
                "max_age",
                at: \AuthorizationRequestSettings.maxAge,
                .duration(.zero...(day * 365)),
                "Users whose sign-in at the provider is older must sign in there again."
            ),
            SettingsKey(
                "acr_values",
                .pairs(name: .assuranceLevel, value: .text(.contextClasses)),
                default: "the values in claims.acr that reach the level",
                "What is requested from the provider if a route requires this level."
            ),
            Self.parameters,
            SettingsKey(
                "response_mode",
                at: \OpenIDSettings.responseMode,
                "How the browser brings the answer back. Use form_post for a provider that supports nothing else, such as Apple with the scopes name and email."
            ),
            SettingsKey("claims", .section(.openIDClaims), "The mapping from claims to traits and assurance levels."),
            SettingsKey(
                "allow",
                .section(.admission),
                "The users who may sign in. By default everybody whom the provider knows may."
            ),
            SettingsKey(
                "userinfo",
                at: \OpenIDSettings.userinfo,
                "When the userinfo endpoint is called. auto: for traits that the id_token lacks, and a sign-in continues without an answer if the id_token suffices; required: each sign-in needs its answer; off: never."
            ),
            SettingsKey(
                "algorithms",
                .list(.text(.signatureAlgorithm)),
                default: OpenIDSettings.algorithms.joined(separator: ", "),
                "The accepted signature algorithms of the provider's tokens."
            ),
            SettingsKey(
                "audiences",
                .list(.text(.text)),
                "Accepts access tokens for one of these audiences as credentials (JWTs of RFC 9068). Without this key none is accepted."
            ),
            Self.audienceClaim(at: \OpenIDSettings.audienceClaim),
            SettingsKey(
                "introspection",
                .section(.openIDIntrospection),
                "Also accepts opaque access tokens for audiences, which the provider's introspection endpoint verifies."
            ),
            Self.domains,
            Self.trustedEmail,
            SettingsKey(
                "dpop",
                at: \OpenIDSettings.usesDPoP,
                "Binds the provider's tokens to a key of each session (RFC 9449), if the provider supports it."
            ),
        ],
        isOption: true
    )

    private static let openIDClaims = Section(Self.traits + Self.levels)

    private static let openIDIntrospection = Section(
        [
            SettingsKey(
                "url",
                .text(.providerURL),
                default: "the one in the provider's metadata",
                "The URL of the introspection endpoint."
            )
        ]
            + Self.clientKeys(isOptional: true) + [
                SettingsKey(
                    "refresh_token_clients",
                    .list(.text(.registeredID)),
                    "The provider's ids of native apps that may mint session-transfer tokens with its refresh tokens. Without this key none may."
                )
            ],
        isOption: true
    )
}

extension OpenIDSettings: SettingsRecord {
    static var initial: OpenIDSettings { OpenIDSettings(issuer: "", client: ProviderClientSettings(id: "")) }
}
