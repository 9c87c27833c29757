/// The realms of one host, or of several hosts with shared endpoints, in the order of the settings. Never empty.
package final class Realms: Sendable, Hashable {
    /// The default realm alone.
    package static let `default` = Realms([.default])

    package let all: [Realm]
    package let first: Realm
    /// True if users choose among several providers.
    package let areSeveral: Bool

    /// - Parameter all: The realms. If empty, the default realm is used.
    package init(_ all: [Realm]) {
        self.all = all.isEmpty ? [.default] : all
        self.first = self.all[0]
        self.areSeveral = self.all.count > 1
    }

    package func contains(_ realm: Realm) -> Bool {
        self.first == realm || (self.areSeveral && self.all.contains(realm))
    }

    package static func == (one: Realms, other: Realms) -> Bool { one === other || one.all == other.all }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.all) }
}
