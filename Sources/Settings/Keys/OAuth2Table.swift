extension Section {
    static let oauth2 = Section(
        [
            SettingsKey(
                "name",
                .text(.token),
                required: true,
                "The provider's name in sessions and logs. If it changes, the provider's users become different users."
            ),
            SettingsKey(
                "authorization_url",
                .text(.providerURL),
                required: true,
                "The URL of the page where users sign in."
            ),
            SettingsKey("token_url", .text(.providerURL), required: true, "The URL that exchanges a code for tokens."),
            SettingsKey(
                "userinfo_url",
                .text(.providerURL),
                required: true,
                "The URL that returns the user of an access token in JSON."
            ),
        ] + Self.clientKeys() + [
            Self.authorities,
            Self.scopes(default: "none"),
            Self.prompt,
            Self.parameters,
            SettingsKey(
                "pkce",
                at: \OAuth2Settings.usesPKCE,
                "Whether sign-ins use PKCE. Set false for a provider that rejects code_challenge."
            ),
            SettingsKey(
                "claims",
                .section(.oauth2Claims),
                required: true,
                "The mapping from the answer of userinfo_url to an identity."
            ),
            SettingsKey(
                "allow",
                .section(.admission),
                "The users who may sign in. By default everybody whom the provider knows may."
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
                "The claim with the user's id at the provider, such as id. The id must never change and never be given to another user."
            )
        ] + Self.traits
    )
}

extension OAuth2Settings: SettingsRecord {
    static var initial: OAuth2Settings {
        OAuth2Settings(
            name: "",
            authorizationURL: "",
            tokenURL: "",
            userinfoURL: "",
            client: ProviderClientSettings(id: "")
        )
    }
}
