import Synchronization

/// The users of one configured provider. The users of two realms are different people, whatever their ids are.
package struct Realm: Sendable, Hashable {
    /// The name of the only provider where the settings give it none. What is stored for its users names no realm.
    package static let `default` = Realm("default")

    /// The provider's name in the settings.
    package let name: String
    /// Equal for equal names in this process, so that requests compare no texts.
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

    /// What the store and its indexes call the user with this id: the id itself in the default realm. No id has a zero
    /// byte, so no two users have the same one.
    package func subject(_ id: String) -> String { Self.subject(id, in: self.name) }

    /// The same in the realm with this name.
    ///
    /// An account of several providers (`AccountID`) has the same one in each.
    package static func subject(_ id: String, in name: String) -> String {
        name == Self.default.name || AccountID.isOne(id) ? id : "\(Self.mark)\(name)\u{0}\(id)"
    }

    /// Stands between a provider's name and its id of a user, in the names of users whose provider is one of several on a
    /// host.
    package static let separator = "|"

    /// The provider's own id of the user with this name: without the provider's name before it.
    package func ownID(of name: String) -> String {
        // Without another text: sessions are read by this.
        guard name.begins(exactlyWith: self.name) else { return name }
        let rest = name.utf8.dropFirst(self.name.utf8.count)
        guard rest.starts(with: Self.separator.utf8) else { return name }
        return String(Substring(rest.dropFirst(Self.separator.utf8.count)))
    }

    /// What the store calls the user whom the provider calls `ownID`, or called the user before a reload put the provider beside
    /// others or took them away. An account of several providers has a name of its own.
    package func subjects(of ownID: String) -> [String] {
        let names = [ownID, "\(self.name)\(Self.separator)\(ownID)"]
        return names.filter { !AccountID.isOne($0) }.map(self.subject)
    }

    /// Begins every subject outside the default realm.
    private static let mark = "\u{0}realm\u{0}"

    /// The name of the realm, and the id of which `subject(_:)` made a subject.
    package static func user(of subject: String) -> (realm: String, id: String) {
        guard subject.hasPrefix(self.mark) else { return (Self.default.name, subject) }
        let rest = subject.dropFirst(self.mark.count)
        guard let end = rest.firstIndex(of: "\u{0}") else { return (Self.default.name, subject) }
        return (String(rest[..<end]), String(rest[rest.index(after: end)...]))
    }
}
