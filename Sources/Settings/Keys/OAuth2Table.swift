extension Section {
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
