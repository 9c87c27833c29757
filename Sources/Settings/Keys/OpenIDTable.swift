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
                "The provider's URL, byte for byte as it stands in iss: some providers end it with a slash."
            )
        ] + Self.clientKeys(id: "SALLYPORT_OIDC_CLIENT_ID", secretFile: "SALLYPORT_OIDC_CLIENT_SECRET_FILE") + [
            Self.authorities,
            Self.scopes(default: "openid, profile, email"),
            Self.prompt,
            SettingsKey(
                "max_age",
                at: \AuthorizationRequestSettings.maxAge,
                .duration(.zero...(day * 365)),
                "Users who signed in at the provider longer ago have to do it again."
            ),
            SettingsKey(
                "acr_values",
                .pairs(name: .assuranceLevel, value: .text(.contextClasses)),
                default: "the values in claims.acr that reach the level",
                "What the provider is asked for where a route requires this level."
            ),
            Self.parameters,
            SettingsKey(
                "response_mode",
                at: \OpenIDSettings.responseMode,
                "How the browser brings the answer back; form_post for a provider that knows no other, as Apple with the scopes name and email."
            ),
            SettingsKey("claims", .section(.openIDClaims), "How claims become traits and assurance levels."),
            SettingsKey(
                "allow",
                .section(.admission),
                "Who may sign in, by default everybody whom the provider knows."
            ),
            SettingsKey(
                "userinfo",
                at: \OpenIDSettings.userinfo,
                "auto: asked for traits that the id_token lacks, and done without if that suffices; required: each sign-in needs its answer; off: never asked."
            ),
            SettingsKey(
                "algorithms",
                .list(.text(.signatureAlgorithm)),
                default: OpenIDSettings.algorithms.joined(separator: ", "),
                "What may sign the provider's tokens."
            ),
            SettingsKey(
                "audiences",
                .list(.text(.text)),
                "Accept access tokens for one of these audiences as credentials (JWTs of RFC 9068); without it none is accepted."
            ),
            Self.audienceClaim(at: \OpenIDSettings.audienceClaim),
            SettingsKey(
                "introspection",
                .section(.openIDIntrospection),
                "Accept opaque access tokens for audiences too, judged by the provider's introspection endpoint."
            ),
            Self.domains,
            Self.trustedEmail,
            SettingsKey(
                "dpop",
                at: \OpenIDSettings.usesDPoP,
                "Bind the provider's tokens to a key of each session (RFC 9449), where the provider can."
            ),
        ],
        isOption: true
    )

    private static let openIDClaims = Section(Self.traits + Self.levels)

    private static let openIDIntrospection = Section(
        [SettingsKey("url", .text(.providerURL), default: "the one in the provider's metadata", "The endpoint.")]
            + Self.clientKeys(isOptional: true) + [
                SettingsKey(
                    "refresh_token_clients",
                    .list(.text(.registeredID)),
                    "The provider's ids of native apps that mint session-transfer tokens by its refresh tokens; without it none does."
                )
            ],
        isOption: true
    )
}

extension OpenIDSettings: SettingsRecord {
    static var initial: OpenIDSettings { OpenIDSettings(issuer: "", client: ProviderClientSettings(id: "")) }
}
