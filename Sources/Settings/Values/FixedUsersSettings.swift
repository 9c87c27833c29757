package import Vocabulary

/// Users in the configuration, for demos and tests. They are served on loopback only, unless
/// `--insecure-static-users` allows more.
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
    /// What the user types: an email address or a name.
    package var identifier: String
    /// What apps call the user.
    package var id: String
    /// The id in the settings, without the provider's name before it.
    package let ownID: String
    /// By scrypt, bcrypt or Argon2, as `TextRule.passwordHash` permits.
    package var passwordHash: Secret
    package var traits: JSONValue
    /// The level that signing in reaches.
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
