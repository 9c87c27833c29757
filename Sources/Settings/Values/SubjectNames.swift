import Vocabulary

/// How apps, clients and operators name the users of a provider: by the provider's own ids, or with the provider's name
/// before them where the ids of several providers meet on one host. Two people must not share a name there.
package struct SubjectNames: Sendable, Hashable {
    /// Begins each name; empty: a user is named by the provider's id alone.
    package private(set) var mark = ""
    /// What begins the names of other providers' users.
    package private(set) var otherMarks: [String] = []

    package init() {}

    /// - Parameters:
    ///   - provider: The provider's name; nil: its users are named by its ids alone.
    ///   - others: The providers whose users have their provider's name before the id.
    package init(of provider: String?, besides others: [String]) {
        self.mark = provider.map { $0 + Realm.separator } ?? ""
        self.otherMarks = others.map { $0 + Realm.separator }
    }

    /// What tells these names from others for settings by which verdicts are kept; empty: the provider's ids alone.
    package var marks: [String] { self.mark.isEmpty && self.otherMarks.isEmpty ? [] : [self.mark] + self.otherMarks }

    /// The name of the user whom the provider calls `id`; nil: it would be one of another provider's users, or an account of
    /// several providers.
    package func name(of id: String) -> String? {
        let name = self.mark + id
        return self.otherMarks.contains { name.begins(exactlyWith: $0) } || AccountID.isOne(name) ? nil : name
    }
}
