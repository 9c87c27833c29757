import Vocabulary

/// The rule that turns a provider's user ids into the names that apps, clients and operators see. A name is the id, or
/// the provider's name and the id. The provider's name is added if users of two providers could have one name.
package struct SubjectNames: Sendable, Hashable {
    /// The prefix of each name. Empty if the name is the provider's id alone.
    package private(set) var mark = ""
    /// The prefixes of the names of other providers' users.
    package private(set) var otherMarks: [String] = []

    package init() {}

    /// - Parameters:
    ///   - provider: The provider's name as the prefix; `nil` if users are named by the provider's ids alone.
    ///   - others: The other providers whose names are prefixes.
    package init(of provider: String?, besides others: [String]) {
        self.mark = provider.map { $0 + Realm.separator } ?? ""
        self.otherMarks = others.map { $0 + Realm.separator }
    }

    /// All prefixes, for the key under which a provider's answers are cached. Empty if all names are ids.
    package var marks: [String] { self.mark.isEmpty && self.otherMarks.isEmpty ? [] : [self.mark] + self.otherMarks }

    /// Returns the name of the user with the provider's `id`; `nil` if another provider's user or a linked account
    /// could have that name.
    package func name(of id: String) -> String? {
        let name = self.mark + id
        return self.otherMarks.contains { name.begins(exactlyWith: $0) } || AccountID.isOne(name) ? nil : name
    }
}
