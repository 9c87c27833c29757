import Rules

extension Section {
    static let rule = Section([
        SettingsKey("name", .text(.name), required: true, "The rule's label in metrics and in the audit stream."),
        SettingsKey(
            "at",
            .list(.choice(RuleStage.allCases.map(\.rawValue))),
            default: "consume",
            "When the rule is evaluated: when a session-transfer token is consumed or minted, when a user signs in, or when a client exchanges a token for an access token."
        ),
        SettingsKey(
            "when",
            .text(.condition),
            required: true,
            "The condition on the event, with ==, !=, in, and, or, not. The guide NativeApps/Rules.md lists the fields."
        ),
        SettingsKey(
            "then",
            .choice(Rule.Effect.allCases.map(\.rawValue)),
            required: true,
            "deny rejects the request. sign_in, only at consume, rejects the token, so that the user must sign in. scopes, only at exchange, removes scopes."
        ),
        SettingsKey(
            "scopes",
            .section(
                Section([
                    SettingsKey(
                        "only",
                        .list(.text(.scope)),
                        "Keeps only these scopes. An empty list keeps none."
                    ),
                    SettingsKey("remove", .list(.text(.scope)), "Removes these scopes."),
                ])
            ),
            "With then: scopes, which of the scopes the client keeps."
        ),
        SettingsKey("text", .text(.text), default: "the gateway's own text", "What the user reads if the rule denies."),
        SettingsKey("dry_run", .boolean, default: "false", "Only counts and records what the rule would do."),
    ])
}
