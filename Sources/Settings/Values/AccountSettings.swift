package import Vocabulary

/// The linking of several providers' users into one account (`accounts`).
package struct AccountSettings: Sendable, Equatable {
    /// The condition for linking users.
    package enum Link: String, Sendable, CaseIterable, SettingWord {
        /// Users are never linked.
        case none
        /// Users are linked by an email address that trusted providers have verified.
        case verifiedEmail = "verified_email"
    }

    package var link = Link.none
    /// The key from which the ids of accounts are derived.
    var key: Secret?

    /// Keeps the key of `former`, the running settings. Another key would give signed-in users other ids.
    ///
    /// - Returns: True if a different key was discarded.
    package mutating func keepKey(of former: AccountSettings) -> Bool {
        guard let known = former.key, let key = self.key, key != known else { return false }
        self.key = known
        return true
    }

    /// The key for linking users; `nil` if users are not linked.
    package var linkKey: Secret? { self.link == .none ? nil : self.key }
}
