import Vocabulary

/// All subjects under which a user may have sessions (`ProviderSessions.names`).
///
/// A subject contains the provider's id of the user. On a host with several providers, the provider's name precedes the
/// id (`Realm.subjects`). A linked user (`accounts.link`) also has the account's id. Sessions keep their first subject.
package struct UserNames: Sendable, Hashable {
    /// The subjects of the provider's user.
    package var own: [String]
    /// The ids of the user's account and of the accounts that the user had under earlier email addresses.
    package var accounts: [String]

    package init(own: [String], accounts: [String]) {
        self.own = own
        self.accounts = accounts
    }

    /// Creates the names of a linked user from the account alone.
    package init(account: String) {
        self.init(own: [], accounts: [account])
    }

    /// All subjects, the provider's first.
    package var all: [String] { self.own + self.accounts }

    /// Adds the names that are missing.
    package mutating func add(_ other: UserNames) {
        self.own += other.own.filter { !$0.isExactlyOne(of: self.own) }
        self.accounts += other.accounts.filter { !$0.isExactlyOne(of: self.accounts) }
    }
}
