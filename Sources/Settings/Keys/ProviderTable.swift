import Vocabulary

private let day: Duration = .seconds(86_400)

/// Keys that several kinds of providers share.
extension Section {
    /// The keys for the HTTP proxy through which a provider is called.
    static let outgoing = [
        SettingsKey(
            "http_proxy",
            .secret(.httpProxy),
            "The HTTP proxy for all calls to the provider, or none. The default is the one in HTTPS_PROXY. The value may contain a password and is never shown. Set either this key or http_proxy_file."
        ),
        SettingsKey("http_proxy_file", .path(isSecret: true), "A file that contains http_proxy on one line."),
    ]

    /// Returns the keys for the gateway's credentials. With `isOptional`, the provider's credentials are used if none
    /// of these keys is written.
    static func clientKeys(
        id: String? = nil,
        secretFile: String? = nil,
        isOptional: Bool = false
    ) -> [SettingsKey] {
        let whole = isOptional ? "the provider's, if no client_ key is written here" : nil
        let method = "client_secret_basic with a secret, private_key_jwt with a key"
        return [
            SettingsKey(
                "client_id",
                .text(.registeredID),
                default: isOptional ? "the provider's" : nil,
                required: !isOptional,
                environment: id,
                "The gateway's client id at the provider."
            ),
            SettingsKey(
                "client_secret_file",
                .path(isSecret: true),
                default: whole ?? "none",
                environment: secretFile,
                "A file with the gateway's client secret at the provider."
            ),
            SettingsKey(
                "client_key_file",
                .path(isSecret: true),
                default: whole ?? "none",
                "A PEM file with a private key, with which the gateway authenticates instead of a secret (private_key_jwt)."
            ),
            SettingsKey(
                "client_authentication",
                .choice(ClientAuthenticationMethod.allCases.map(\.rawValue)),
                default: whole.map { "\($0); otherwise \(method)" } ?? "\(method), otherwise none",
                "How the gateway authenticates to the provider."
            ),
        ]
    }

    static let authorities = SettingsKey(
        "ca_file",
        .path(isSecret: false),
        default: "the system's authorities",
        "A PEM file with the authorities of the provider's certificate, which is always verified."
    )

    static func audienceClaim<Record: SettingsRecord>(
        at path: any WritableKeyPath<Record, AudienceClaim> & Sendable
    ) -> SettingsKey {
        SettingsKey(
            "audience_claim",
            at: path,
            "The claim with the audience of an access token. Use client_id for a provider that writes no aud, such as Amazon Cognito; audiences then lists client ids."
        )
    }

    static func scopes(default fallback: String) -> SettingsKey {
        SettingsKey(
            "scopes",
            at: \AuthorizationRequestSettings.scopes,
            .list(.text(.scope)),
            default: fallback,
            "The scopes that the gateway requests. Add offline_access if the provider gives refresh tokens only for it."
        )
    }

    static let prompt = SettingsKey(
        "prompt",
        at: \AuthorizationRequestSettings.prompt,
        .text(.prompt),
        "The prompt that is sent with every sign-in, e.g. select_account to choose among accounts."
    )

    static let parameters = SettingsKey(
        "parameters",
        .pairs(name: .parameterName, value: .text(.text)),
        "Additional parameters of every sign-in, as the provider documents them."
    )

    static let trustedEmail = SettingsKey(
        "trusted_email",
        .boolean,
        default: "false",
        "With accounts.link, a user with a verified address at this provider is the user with that address at every other provider with trusted_email."
    )

    static let domains = SettingsKey(
        "domains",
        .list(.text(.signInDomain)),
        "On a host with several providers, users with an address in one of these domains go straight to this provider: with login_hint, or with sign_in: identifier_first."
    )

    static let traits = [
        SettingsKey(
            "traits",
            .pairs(name: .traitName, value: .text(.traitPath)),
            default: ClaimSettings().traits.map { $0.name == $0.path[0] ? $0.name : "\($0.name) from \($0.path[0])" }
                .joined(separator: ", "),
            "The user's traits and the claims that contain them. They are added to the default, or replace a trait with the same name."
        ),
        SettingsKey(
            "text_lists",
            .pairs(name: .traitName, value: .text(.textListForm)),
            "Traits whose claim is a list in one text, with the separator of its elements. The form [a, b] is read as well."
        ),
        SettingsKey(
            "groups_only",
            .list(.text(.text)),
            "Keeps only these elements of the trait groups, for users who have too many. * matches any characters. By default all are kept."
        ),
    ]

    static let levels = [
        SettingsKey(
            "acr",
            .pairs(name: .contextClass, value: .text(.assuranceLevel)),
            "The assurance level of a sign-in with this acr. The highest level applies, and aal1 if no value is listed."
        ),
        SettingsKey(
            "amr",
            .pairs(name: .contextClass, value: .text(.assuranceLevel)),
            "The assurance level of a sign-in with this element in amr. The highest level applies, and aal1 if no value is listed."
        ),
    ]

    static let admission = Section([
        SettingsKey(
            "emails",
            .list(.text(.email)),
            "Admits users with one of these addresses, if the provider has verified it (email_verified)."
        ),
        SettingsKey(
            "email_domains",
            .list(.text(.emailDomain)),
            "Also admits users with a verified address in one of these domains."
        ),
        SettingsKey(
            "groups",
            .list(.text(.text)),
            "Admits only users with one of these groups in the trait groups, whatever their address."
        ),
    ])
}
