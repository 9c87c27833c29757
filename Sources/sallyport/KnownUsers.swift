import Settings
import Vocabulary

/// The users of the settings as this process has seen them, with their password hashes. A user who was removed is
/// remembered too: one who comes back with another password must not find sessions of the former one.
struct KnownUsers {
    /// What other settings mean for the users' sessions.
    struct Changes {
        /// The ids of users who are not in the settings any more.
        var gone: [String] = []
        /// The ids of users whose password is another one.
        var changed: [String] = []
    }

    /// All password hashes of each id.
    private var hashes: [String: Set<Secret>]
    private var present: Set<String>

    /// - Parameter provider: What the gateway started with.
    init(_ provider: ProviderSettings?) {
        self.hashes = Self.hashes(provider) ?? [:]
        self.present = Set(self.hashes.keys)
    }

    /// Takes other settings; a provider without users in the settings changes nothing.
    mutating func adopt(_ provider: ProviderSettings?) -> Changes {
        guard let hashes = Self.hashes(provider) else { return Changes() }
        let gone = self.present.subtracting(hashes.keys)
        let changed = hashes.filter { id, new in self.hashes[id].map { $0 != new } ?? false }.keys
        self.present = Set(hashes.keys)
        self.hashes.merge(hashes) { _, new in new }
        return Changes(gone: gone.sorted(), changed: changed.sorted())
    }

    /// Has the next settings end the sessions of this user, because they could not be ended now.
    mutating func forgetPassword(of id: String) { self.hashes[id] = [] }

    private static func hashes(_ provider: ProviderSettings?) -> [String: Set<Secret>]? {
        guard case .fixedUsers(let users)? = provider else { return nil }
        return Dictionary(users.map { ($0.id, [$0.passwordHash]) }) { $0.union($1) }
    }
}
