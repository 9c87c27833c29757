extension Section {
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
}

extension IntrospectionSettings: SettingsRecord {
    static var initial: IntrospectionSettings {
        IntrospectionSettings(url: nil, client: ProviderClientSettings(id: ""), audiences: [])
    }
}
