extension Section {
    static let introspection = Section(
        [SettingsKey("url", .text(.providerURL), required: true, "The URL of the introspection endpoint.")]
            + Self.clientKeys() + [
                Self.authorities,
                SettingsKey(
                    "audiences",
                    .list(.text(.text)),
                    required: true,
                    "The accepted audiences. A token for any other audience is rejected, because it was not meant for these apps."
                ),
                Self.audienceClaim(at: \IntrospectionSettings.audienceClaim),
                SettingsKey(
                    "issuer",
                    at: \IntrospectionSettings.issuer,
                    .text(.text),
                    "The required iss of answers that have iss."
                ),
                SettingsKey("claims", .section(.introspectionClaims), "The mapping from an answer to an identity."),
            ],
        isOption: true
    )

    private static let introspectionClaims = Section(
        [SettingsKey("subject", .text(.subjectPath), default: "sub", "The claim with the user's id.")] + Self.traits
            + Self.levels
    )
}

extension IntrospectionSettings: SettingsRecord {
    static var initial: IntrospectionSettings {
        IntrospectionSettings(url: nil, client: ProviderClientSettings(id: ""), audiences: [])
    }
}
