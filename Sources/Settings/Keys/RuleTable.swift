internal import Rules

extension Section {
    static let rule = Section([
        SettingsKey("name", .text(.name), required: true, "The rule's label in metrics and in the audit stream."),
        SettingsKey(
            "at",
            .list(.choice(RuleStage.allCases.map(\.rawValue))),
            default: "consume",
            "When it is judged: when a session-transfer token is consumed or minted, or when a user signs in."
        ),
        SettingsKey(
            "when",
            .text(.condition),
            required: true,
            "The condition on the event: ==, !=, in, and, or, not; README.md has the fields."
        ),
        SettingsKey(
            "then",
            .choice(Rule.Effect.allCases.map(\.rawValue)),
            required: true,
            "deny refuses; sign_in, only at consume, refuses the token, so that the user has to sign in."
        ),
        SettingsKey("text", .text(.text), default: "the gateway's own words", "What the user reads when it denies."),
        SettingsKey("dry_run", .boolean, default: "false", "Only count and record what it would do."),
    ])
}
