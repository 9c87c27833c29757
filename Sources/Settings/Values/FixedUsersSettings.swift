package import Vocabulary

/// Users in the settings file (`provider.static`), for demos and tests. They require loopback listeners or
/// `--insecure-static-users`.
package struct FixedUsersSettings: Sendable, Equatable {
    package var users: [UserSettings]

    package init(_ users: [UserSettings]) {
        self.users = users
    }
}

extension FixedUsersSettings: ProviderSettings {
    package static var key: String { "static" }

    package var calledURL: String? { nil }
    package var asksForPasswords: Bool { true }
    package var ownName: String? { nil }
    package var names: SubjectNames { SubjectNames() }
    package var highestAssurance: AssuranceLevel? { nil }
    package var confirmation: UserConfirmation { .file }
    package var highestSignIn: AssuranceLevel { self.users.map(\.aal).max() ?? .aal1 }
    package func assurance(of ownID: String) -> AssuranceLevel? { self.users.first { $0.ownID == ownID }?.aal }

    package func naming(_ names: SubjectNames) -> FixedUsersSettings {
        var settings = self
        for index in settings.users.indices {
            let user = settings.users[index]
            settings.users[index].id = names.name(of: user.id) ?? user.id
        }
        return settings
    }

    package var title: String {
        self.users.count == 1 ? "1 user of the settings" : "\(self.users.count) users of the settings"
    }
    package var signInStep: String? { "asks for the password" }
    package var exchangeChoice: ExchangeSettings.Choice? {
        ExchangeSettings.Choice(id: Self.key, label: "user name and password")
    }
}

/// A user of the `static` provider.
package struct UserSettings: Sendable, Equatable {
    /// The email address or name that the user types.
    package var identifier: String
    /// The subject that apps see.
    package var id: String
    /// The user's id in the settings, without the prefix of the provider's name.
    package let ownID: String
    /// A scrypt, bcrypt or Argon2 hash (`TextRule.passwordHash`).
    package var passwordHash: Secret
    package var traits: JSONValue
    /// The assurance level of the user's sign-in.
    package var aal: AssuranceLevel

    package init(identifier: String, id: String, passwordHash: Secret, traits: JSONValue, aal: AssuranceLevel) {
        self.identifier = identifier
        self.id = id
        self.ownID = id
        self.passwordHash = passwordHash
        self.traits = traits
        self.aal = aal
    }
}
