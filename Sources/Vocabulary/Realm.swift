import Synchronization

/// The users of one configured provider. Equal ids in different realms are different people.
package struct Realm: Sendable, Hashable {
    /// The realm of a single provider without a configured name. Its subjects are plain ids.
    package static let `default` = Realm("default")

    /// The provider's name in the settings.
    package let name: String
    /// A number for the name, unique within this process. Makes comparisons fast.
    package let number: Int

    private static let numbers = Mutex<[String: Int]>([:])

    package init(_ name: String) {
        self.name = name
        self.number = Self.numbers.withLock { numbers in
            let number = numbers[name] ?? numbers.count
            numbers[name] = number
            return number
        }
    }

    package static func == (one: Realm, other: Realm) -> Bool { one.number == other.number }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.number) }

    /// Returns the subject (the user's name in the store) for a provider's id. No id contains a zero byte, so no two
    /// users share a subject.
    package func subject(_ id: String) -> String { Self.subject(id, in: self.name) }

    /// Returns the subject for an id in the realm `name`. A linked account (`AccountID`) has one subject in all realms.
    package static func subject(_ id: String, in name: String) -> String {
        name == Self.default.name || AccountID.isOne(id) ? id : "\(Self.mark)\(name)\u{0}\(id)"
    }

    /// Separates the provider's name from its id of a user, in user names on hosts with several providers.
    package static let separator = "|"

    /// Returns the provider's id of the user with this name, without the provider's name in front.
    package func ownID(of name: String) -> String {
        // Avoids allocations, because this runs for every session that is read.
        guard name.begins(exactlyWith: self.name) else { return name }
        let rest = name.utf8.dropFirst(self.name.utf8.count)
        guard rest.starts(with: Self.separator.utf8) else { return name }
        return String(Substring(rest.dropFirst(Self.separator.utf8.count)))
    }

    /// Returns the subjects of a provider's user on hosts with one and with several providers. A reload may change the
    /// number of providers. The subject of a linked account is not included.
    package func subjects(of ownID: String) -> [String] {
        let names = [ownID, "\(self.name)\(Self.separator)\(ownID)"]
        return names.filter { !AccountID.isOne($0) }.map(self.subject)
    }

    /// The prefix of the subjects outside the default realm. Subjects of linked accounts have no prefix.
    private static let mark = "\u{0}realm\u{0}"

    /// Splits a subject into realm name and id. Linked accounts are returned with the default realm.
    package static func user(of subject: String) -> (realm: String, id: String) {
        guard subject.hasPrefix(self.mark) else { return (Self.default.name, subject) }
        let rest = subject.dropFirst(self.mark.count)
        guard let end = rest.firstIndex(of: "\u{0}") else { return (Self.default.name, subject) }
        return (String(rest[..<end]), String(rest[rest.index(after: end)...]))
    }
}
