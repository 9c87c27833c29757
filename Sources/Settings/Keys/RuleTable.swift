import Rules

extension Section {
    static let rule = Section([
        SettingsKey("name", .text(.name), required: true, "The rule's label in metrics and in the audit stream."),
        SettingsKey(
            "at",
            .list(.choice(RuleStage.allCases.map(\.rawValue))),
            default: "consume",
            "When it is judged: when a session-transfer token is consumed or minted, when a user signs in, or when a client exchanges a token for an access token."
        ),
        SettingsKey(
            "when",
            .text(.condition),
            required: true,
            "The condition on the event: ==, !=, in, and, or, not; the guide NativeApps/Rules.md has the fields."
        ),
        SettingsKey(
            "then",
            .choice(Rule.Effect.allCases.map(\.rawValue)),
            required: true,
            "deny refuses; sign_in, only at consume, refuses the token, so that the user has to sign in; scopes, only at exchange, takes scopes away."
        ),
        SettingsKey(
            "scopes",
            .section(
                Section([
                    SettingsKey(
                        "only",
                        .list(.text(.scope)),
                        "All other scopes are left out; an empty list leaves none."
                    ),
                    SettingsKey("remove", .list(.text(.scope)), "These scopes are left out."),
                ])
            ),
            "With then: scopes, what is left of the scopes that the client would get."
        ),
        SettingsKey("text", .text(.text), default: "the gateway's own words", "What the user reads when it denies."),
        SettingsKey("dry_run", .boolean, default: "false", "Only count and record what it would do."),
    ])
}
