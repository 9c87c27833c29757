import Vocabulary

private let day: Duration = .seconds(86_400)

/// Keys that several kinds of providers share.
extension Section {
    /// The keys for the HTTP proxy in front of a provider.
    static let outgoing = [
        SettingsKey(
            "http_proxy",
            .secret(.httpProxy),
            "The HTTP proxy for all calls to it, or none; by default that of HTTPS_PROXY. It may hold a password and is never shown. Write this or http_proxy_file."
        ),
        SettingsKey("http_proxy_file", .path(isSecret: true), "A file with the same, in one line."),
    ]

    /// Returns the keys for the gateway's credentials. With `isOptional`, they default to the provider's values.
    static func clientKeys(
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

    static let authorities = SettingsKey(
        "ca_file",
        .path(isSecret: false),
        default: "the system's authorities",
        "PEM file of the authorities for the provider's certificate, which is always verified."
    )

    static func audienceClaim<Record: SettingsRecord>(
        at path: any WritableKeyPath<Record, AudienceClaim> & Sendable
    ) -> SettingsKey {
        SettingsKey(
            "audience_claim",
            at: path,
            "What says whom an access token is for: client_id for a provider that writes no aud, such as Amazon Cognito; then audiences names client ids."
        )
    }

    static func scopes(default fallback: String) -> SettingsKey {
        SettingsKey(
            "scopes",
            at: \AuthorizationRequestSettings.scopes,
            .list(.text(.scope)),
            default: fallback,
            "What the gateway asks for; add offline_access where the provider gives refresh tokens only for it."
        )
    }

    static let prompt = SettingsKey(
        "prompt",
        at: \AuthorizationRequestSettings.prompt,
        .text(.prompt),
        "Sent with every sign-in, e.g. select_account to choose among accounts."
    )

    static let parameters = SettingsKey(
        "parameters",
        .pairs(name: .parameterName, value: .text(.text)),
        "Further parameters of every sign-in, as the provider documents them."
    )

    static let trustedEmail = SettingsKey(
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

    static let traits = [
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

    static let levels = [
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

    static let admission = Section([
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
}
