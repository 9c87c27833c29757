import Vocabulary

/// Everything that the store calls a user, or called the user before a reload: whoever finds or ends the sessions of a user
/// asks for all of these names (`ProviderSessions.names`).
///
/// A provider's user is called by the provider's own id, and with the provider's name before it while the provider is one of
/// several on a host (`Realm.subjects`). Sessions keep the name with which they began. A user of several providers who are
/// linked (`accounts.link`) is an account besides.
package struct UserNames: Sendable, Hashable {
    /// The names that the user has at the provider alone.
    package var own: [String]
    /// The accounts that the user has, or had with another address.
    package var accounts: [String]

    package init(own: [String], accounts: [String]) {
        self.own = own
        self.accounts = accounts
    }

    /// The names of a user of several providers, of whom only the account is known.
    package init(account: String) {
        self.init(own: [], accounts: [account])
    }

    /// The provider's names first.
    package var all: [String] { self.own + self.accounts }

    /// Adds the names that are not there yet.
    package mutating func add(_ other: UserNames) {
        self.own += other.own.filter { !$0.isExactlyOne(of: self.own) }
        self.accounts += other.accounts.filter { !$0.isExactlyOne(of: self.accounts) }
    }
}
