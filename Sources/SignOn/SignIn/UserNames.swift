import Vocabulary

/// All present and earlier names of a user in the store, for finding or ending all sessions of the user
/// (`ProviderSessions.names`).
///
/// A user's name is the id that the provider gave the user. While a host has several providers, the provider's name
/// comes before the id (`Realm.subjects`). Sessions keep the name with which they began. A linked user
/// (`accounts.link`) also has an account. The account's id is another name of the user.
package struct UserNames: Sendable, Hashable {
    /// The user's names as a user of one provider.
    package var own: [String]
    /// The ids of the user's account and of the accounts that the user had under earlier email addresses.
    package var accounts: [String]

    package init(own: [String], accounts: [String]) {
        self.own = own
        self.accounts = accounts
    }

    /// Creates the names of a linked user of whom only the account is known.
    package init(account: String) {
        self.init(own: [], accounts: [account])
    }

    /// All names, the provider's names first.
    package var all: [String] { self.own + self.accounts }

    /// Adds the names that are missing.
    package mutating func add(_ other: UserNames) {
        self.own += other.own.filter { !$0.isExactlyOne(of: self.own) }
        self.accounts += other.accounts.filter { !$0.isExactlyOne(of: self.accounts) }
    }
}
