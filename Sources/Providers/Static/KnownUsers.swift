package import Settings
import Synchronization
import Vocabulary

/// The configured users that this process has seen, with their password hashes. Removed users are remembered: if a user
/// returns with another password, the sessions of the old password must end.
package final class KnownUsers: Sendable {
    /// What new settings change for users with sessions.
    package struct Changes: Sendable {
        /// The provider's own ids of users who are no longer in the settings.
        package var gone: [String] = []
        /// The provider's own ids of users whose password has changed.
        package var changed: [String] = []
        /// True if the traits of a user have changed.
        package var hasNewTraits = false
    }

    private struct State {
        /// The password hashes of each id.
        var hashes: [String: Set<Secret>] = [:]
        var present: Set<String> = []
        /// The traits of each present id.
        var traits: [String: JSONValue] = [:]
        /// The ids of users whose sessions could not be ended after a change of password.
        var unended: Set<String> = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Adopts new settings. The first settings cause no changes, and neither do settings without static users. From
    /// this call on, `hashes(of:)` returns the new hashes, by which sign-ins with a former password are refused. So
    /// ending the sessions of `changed` misses none.
    package func adopt(_ provider: (any ProviderSettings)?) -> Changes {
        guard let users = (provider as? FixedUsersSettings)?.users else { return Changes() }
        let hashes = Self.hashes(of: users)
        let traits = Dictionary(users.map { ($0.ownID, $0.traits) }, uniquingKeysWith: { first, _ in first })
        return self.state.withLock { state in
            let gone = state.present.subtracting(hashes.keys)
            let changed = hashes.filter { id, new in
                state.unended.remove(id) != nil || state.hashes[id].map { $0 != new } ?? false
            }
            state.present = Set(hashes.keys)
            state.hashes.merge(hashes) { _, new in new }
            let hasNewTraits = state.traits.contains { id, former in traits[id].map { $0 != former } ?? false }
            state.traits = traits
            return Changes(gone: gone.sorted(), changed: changed.keys.sorted(), hasNewTraits: hasNewTraits)
        }
    }

    /// Records that this user's sessions could not be ended. The next settings report the user as changed again.
    package func noteUnended(_ id: String) { self.state.withLock { _ = $0.unended.insert(id) } }

    /// Returns the password hashes of this id in the current settings; `nil` if there is no such user.
    func hashes(of id: String) -> Set<Secret>? {
        self.state.withLock { $0.present.contains(id) ? $0.hashes[id] : nil }
    }

    /// Returns the password hashes of each id. A user may have several identifiers with different passwords.
    static func hashes(of users: [UserSettings]) -> [String: Set<Secret>] {
        Dictionary(users.map { ($0.ownID, [$0.passwordHash]) }) { $0.union($1) }
    }
}
