import Vocabulary

extension Section {
    static let fixedUsers = Section([
        SettingsKey(
            "users",
            .sections(.user),
            "The users. After a reload, sessions and tokens of removed users are rejected, and the sessions of a user whose password_hash changed end."
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
            "The email address or name that the user types. White space at the ends and the case of ASCII letters are ignored."
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
            "A hash of the password, as `sallyport hash-password` prints it, or a scrypt, bcrypt or argon2id hash from another program."
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
