import Vocabulary

extension Section {
    static let fixedUsers = Section([
        SettingsKey(
            "users",
            .sections(.user),
            "The users. A reload refuses what belongs to a user who is gone, and ends the sessions of one whose password_hash changed."
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
            "What the user types: an email address or a name. White space at the ends and the case of ASCII letters do not count."
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
            "A hash of the password, as `sallyport hash-password` prints it, or a hash by scrypt, bcrypt or argon2id from another program."
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
