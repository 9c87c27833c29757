import Vocabulary

private let day: Duration = .seconds(86_400)

extension Section {
    static let provider = Section(Self.providerKinds.keys + Self.outgoing)

    /// The kinds of providers, which exclude each other.
    static let providerKinds = Section([
        SettingsKey("oidc", .section(.openID), "An OpenID provider. It and the next four exclude each other."),
        SettingsKey(
            "kratos",
            .section(.kratos),
            "Ory Kratos: users sign in at its pages, and its session tokens and cookie are accepted."
        ),
        SettingsKey(
            "oauth2",
            .section(.oauth2),
            "A provider of plain OAuth 2.0, without discovery and id_token, such as GitHub."
        ),
        SettingsKey(
            "introspection",
            .section(.introspection),
            "Access tokens only, judged by an introspection endpoint (RFC 7662): for APIs, nobody can sign in."
        ),
        SettingsKey("static", .section(.staticProvider), "Users in the configuration, for demos and tests."),
    ])

    /// How it is reached.
    private static let outgoing = [
        SettingsKey(
            "http_proxy",
            .secret(.httpProxy),
            "The HTTP proxy for all calls to it, or none; by default that of HTTPS_PROXY. It may hold a password and is never shown. Write this or http_proxy_file."
        ),
        SettingsKey("http_proxy_file", .path(isSecret: true), "A file with the same, in one line."),
    ]

    /// An element of `providers`.
    static let namedProvider = Section(
        [
            SettingsKey(
                "name",
                .text(.providerName),
                required: true,
                "Its name here, under which its users' sessions are stored; default is what a lone provider is called."
            ),
            SettingsKey(
                "label",
                .text(.text),
                default: "its usual name",
                "What its button is called on a sign-in page with several providers."
            ),
            SettingsKey(
                "icon_file",
                .path(isSecret: false),
                default: "a mark of the provider, else a letter",
                "The image on that button: SVG, PNG, JPEG, GIF or WebP of at most 64KiB; it is embedded in the page."
            ),
            SettingsKey(
                "essential",
                .boolean,
                default: "true while users of some host can sign in at no other",
                "A new gateway is ready only when it has reached this provider."
            ),
        ] + Self.provider.keys
    )

    // MARK: OpenID

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

    // MARK: OAuth 2.0

    static let oauth2 = Section(
        [
            SettingsKey(
                "name",
                .text(.token),
                required: true,
                "Names the provider in sessions and logs. Under another name its users are others."
            ),
            SettingsKey(
                "authorization_url",
                .text(.providerURL),
                required: true,
                "The page to which a browser is sent to sign in."
            ),
            SettingsKey("token_url", .text(.providerURL), required: true, "Where a code is exchanged for tokens."),
            SettingsKey(
                "userinfo_url",
                .text(.providerURL),
                required: true,
                "Says in JSON who the user of an access token is."
            ),
        ] + Self.clientKeys() + [
            Self.authorities,
            Self.scopes(default: "none"),
            Self.prompt,
            Self.parameters,
            SettingsKey("pkce", at: \OAuth2Settings.usesPKCE, "false for a provider that refuses code_challenge."),
            SettingsKey(
                "claims",
                .section(.oauth2Claims),
                required: true,
                "How the answer of userinfo_url becomes an identity."
            ),
            SettingsKey(
                "allow",
                .section(.admission),
                "Who may sign in, by default everybody whom the provider knows."
            ),
            Self.domains,
            Self.trustedEmail,
        ],
        isOption: true
    )

    private static let oauth2Claims = Section(
        [
            SettingsKey(
                "subject",
                .text(.subjectPath),
                required: true,
                "The user's id at the provider, which never changes and never goes to another user, such as id."
            )
        ] + Self.traits
    )

    // MARK: Introspection

    static let introspection = Section(
        [SettingsKey("url", .text(.providerURL), required: true, "The endpoint.")] + Self.clientKeys() + [
            Self.authorities,
            SettingsKey(
                "audiences",
                .list(.text(.text)),
                required: true,
                "A token for none of these is refused: it was not meant for these apps."
            ),
            Self.audienceClaim(at: \IntrospectionSettings.audienceClaim),
            SettingsKey(
                "issuer",
                at: \IntrospectionSettings.issuer,
                .text(.text),
                "Demanded in answers that have iss."
            ),
            SettingsKey("claims", .section(.introspectionClaims), "How an answer becomes an identity."),
        ],
        isOption: true
    )

    private static let introspectionClaims = Section(
        [SettingsKey("subject", .text(.subjectPath), default: "sub", "The user's id.")] + Self.traits + Self.levels
    )

    // MARK: Shared keys

    /// How the gateway names and proves itself. In `isOptional` sections they are by default those of the provider.
    private static func clientKeys(
        id: String? = nil,
        secretFile: String? = nil,
        isOptional: Bool = false
    ) -> [SettingsKey] {
        let provider = isOptional ? "the provider's" : nil
        return [
            SettingsKey(
                "client_id",
                .text(.registeredID),
                default: provider,
                required: !isOptional,
                environment: id,
                "The gateway's id at the provider."
            ),
            SettingsKey(
                "client_secret_file",
                .path(isSecret: true),
                default: provider ?? "none",
                environment: secretFile,
                "A file with the gateway's secret at the provider."
            ),
            SettingsKey(
                "client_key_file",
                .path(isSecret: true),
                default: provider ?? "none",
                "A PEM file with a private key, by which the gateway proves itself instead (private_key_jwt)."
            ),
            SettingsKey(
                "client_authentication",
                .choice(ClientAuthenticationMethod.allCases.map(\.rawValue)),
                default: "client_secret_basic with a secret, private_key_jwt with a key, else none",
                "How the gateway proves itself."
            ),
        ]
    }

    private static let authorities = SettingsKey(
        "ca_file",
        .path(isSecret: false),
        default: "the system's authorities",
        "PEM file of the authorities for the provider's certificate, which is always verified."
    )

    private static func audienceClaim<Record: SettingsRecord>(
        at path: any WritableKeyPath<Record, AudienceClaim> & Sendable
    ) -> SettingsKey {
        SettingsKey(
            "audience_claim",
            at: path,
            "What says whom an access token is for: client_id for a provider that writes no aud, such as Amazon Cognito; then audiences names client ids."
        )
    }

    private static func scopes(default fallback: String) -> SettingsKey {
        SettingsKey(
            "scopes",
            at: \AuthorizationRequestSettings.scopes,
            .list(.text(.scope)),
            default: fallback,
            "What the gateway asks for; add offline_access where the provider gives refresh tokens only for it."
        )
    }

    private static let prompt = SettingsKey(
        "prompt",
        at: \AuthorizationRequestSettings.prompt,
        .text(.prompt),
        "Sent with every sign-in, e.g. select_account to choose among accounts."
    )

    private static let parameters = SettingsKey(
        "parameters",
        .pairs(name: .parameterName, value: .text(.text)),
        "Further parameters of every sign-in, as the provider documents them."
    )

    private static let trustedEmail = SettingsKey(
        "trusted_email",
        .boolean,
        default: "false",
        "With accounts.link, whoever has an address at this provider is the user with that address at every other such provider."
    )

    static let domains = SettingsKey(
        "domains",
        .list(.text(.signInDomain)),
        "On a host with several providers, users with an address in one of these go straight to this one: by login_hint, or by sign_in: identifier_first."
    )

    private static let traits = [
        SettingsKey(
            "traits",
            .pairs(name: .traitName, value: .text(.traitPath)),
            default: ClaimSettings().traits.map { $0.name == $0.path[0] ? $0.name : "\($0.name) from \($0.path[0])" }
                .joined(separator: ", "),
            "Traits of the user and the claims that hold them; added to the default, or instead of one with the same name."
        ),
        SettingsKey(
            "text_lists",
            .pairs(name: .traitName, value: .text(.textListForm)),
            "Traits whose claim is one text with a list, and what separates its elements; [a, b] is read as well."
        ),
        SettingsKey(
            "groups_only",
            .list(.text(.text)),
            "Keep only these elements of the trait groups, where * stands for any characters: some users have too many. By default all are kept."
        ),
    ]

    private static let levels = [
        SettingsKey(
            "acr",
            .pairs(name: .contextClass, value: .text(.assuranceLevel)),
            "The assurance level of a sign-in with this acr; the highest counts, and aal1 where none is named."
        ),
        SettingsKey(
            "amr",
            .pairs(name: .contextClass, value: .text(.assuranceLevel)),
            "The same by an element of amr."
        ),
    ]

    private static let admission = Section([
        SettingsKey(
            "emails",
            .list(.text(.email)),
            "These addresses, if the provider has verified them (email_verified)."
        ),
        SettingsKey(
            "email_domains",
            .list(.text(.emailDomain)),
            "Also every verified address in these domains."
        ),
        SettingsKey("groups", .list(.text(.text)), "In any case only users whose trait groups has one of these."),
    ])

    // MARK: Static users

    private static let staticProvider = Section([
        SettingsKey(
            "users",
            .sections(.user),
            "The users. A reload refuses what belongs to a user who is gone, and ends the sessions of one whose password_hash changed."
        ),
        SettingsKey(
            "users_file",
            .path(isSecret: false),
            environment: "SALLYPORT_USERS_FILE",
            "A YAML file with the list of users, instead of users."
        ),
        Self.domains,
    ])

    /// An element of `provider.static.users`, and of a users file.
    static let user = Section([
        SettingsKey(
            "identifier",
            .text(.text),
            required: true,
            "What the user types: an email address or a name. White space at the ends and the case of ASCII letters do not count."
        ),
        SettingsKey(
            "id",
            .text(.text),
            default: "the identifier",
            "The subject that apps see. Never give one user's id to another."
        ),
        SettingsKey(
            "password_hash",
            .secret(.passwordHash),
            required: true,
            "A hash of the password, as `sallyport hash-password` prints it, or a hash by scrypt, bcrypt or argon2id from another program."
        ),
        SettingsKey(
            "traits",
            .document,
            default: "{}",
            "What apps may learn about the user, e.g. email, name, groups."
        ),
        SettingsKey(
            "aal",
            .choice(AssuranceLevel.demandable.map(\.rawValue)),
            default: "aal1",
            "The assurance level of the user's sign-in."
        ),
    ])
}
