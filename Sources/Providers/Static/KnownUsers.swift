package import Settings
import Synchronization
import Vocabulary

/// The users of the settings as this process has seen them, with their password hashes. A user who was removed is
/// remembered too: one who comes back with another password must not find sessions of the former one.
package final class KnownUsers: Sendable {
    /// What other settings mean for the users' sessions.
    package struct Changes: Sendable {
        /// The provider's own ids of users who are no longer in the settings.
        package var gone: [String] = []
        /// The provider's own ids of users whose password is another one.
        package var changed: [String] = []
    }

    private struct State {
        /// All password hashes of each id.
        var hashes: [String: Set<Secret>] = [:]
        var present: Set<String> = []
        /// The ids of users whose sessions could not be ended when the password changed.
        var unended: Set<String> = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Takes other settings; the first ones change nothing, nor does a provider without users in the settings. From now
    /// on a sign-in that an earlier configuration has judged does not begin (`hashes(of:)`), so that whoever ends the
    /// sessions of `changed` after this misses none.
    package func adopt(_ provider: (any ProviderSettings)?) -> Changes {
        guard let users = (provider as? FixedUsersSettings)?.users else { return Changes() }
        let hashes = Self.hashes(of: users)
        return self.state.withLock { state in
            let gone = state.present.subtracting(hashes.keys)
            let changed = hashes.filter { id, new in
                state.unended.remove(id) != nil || state.hashes[id].map { $0 != new } ?? false
            }
            state.present = Set(hashes.keys)
            state.hashes.merge(hashes) { _, new in new }
            return Changes(gone: gone.sorted(), changed: changed.keys.sorted())
        }
    }

    /// Has the next settings end the sessions of this user, because they could not be ended now.
    package func noteUnended(_ id: String) { self.state.withLock { _ = $0.unended.insert(id) } }

    /// The password hashes of this id in the settings in use; nil if they have no such user.
    func hashes(of id: String) -> Set<Secret>? {
        self.state.withLock { $0.present.contains(id) ? $0.hashes[id] : nil }
    }

    /// All password hashes of each id. One user may have several names, each with a password.
    static func hashes(of users: [UserSettings]) -> [String: Set<Secret>] {
        Dictionary(users.map { ($0.ownID, [$0.passwordHash]) }) { $0.union($1) }
    }
}
