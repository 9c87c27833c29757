package import Vocabulary

/// Whether users of several providers can be one person.
package struct AccountSettings: Sendable, Equatable {
    /// By what they are.
    package enum Link: String, Sendable, CaseIterable, SettingWord {
        /// Never: two providers are two people.
        case none
        /// By an address for which trusted providers vouch.
        case verifiedEmail = "verified_email"
    }

    package var link = Link.none
    /// From it the ids of accounts are derived.
    var key: Secret?

    /// Keeps the key that accounts have been named by: with another one, users would become others while they are signed in.
    ///
    /// - Returns: Whether another one was written.
    package mutating func keepKey(of former: AccountSettings) -> Bool {
        guard let known = former.key, let key = self.key, key != known else { return false }
        self.key = known
        return true
    }

    /// The key by which users are linked; nil: they are not.
    package var linkKey: Secret? { self.link == .none ? nil : self.key }
}
