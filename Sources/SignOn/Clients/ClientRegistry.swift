import Sessions
package import Settings
import Synchronization
package import Vocabulary

/// The OAuth clients of one configuration: the clients of the file with their changes at run time. All event loops and
/// endpoints share one registry.
///
/// Keep the registry, but use a client or a snapshot only for one request, so that changes apply at once. The request
/// path uses snapshots of its event loop and never waits for the registry's lock.
package final class ClientRegistry: Sendable {
    private struct State: Sendable {
        var snapshot: ClientSnapshot
        /// The snapshot for each group of providers.
        var byGroup: [[String]: ClientSnapshot]
        var catalogue: ClientCatalogue
    }

    package let base: ClientBase
    private let file: [ClientSettings]
    /// The groups of providers that share hosts.
    private let groups: [[String]]
    private let state: Mutex<State>
    /// For a view: its full registry, and the providers of the view. `nil` for a full registry.
    private let source: (registry: ClientRegistry, providers: [String])?

    /// The current clients. A request that looks up several clients must take the snapshot once.
    package var snapshot: ClientSnapshot {
        guard let source = self.source else { return self.state.withLock { $0.snapshot } }
        return source.registry.state.withLock { $0.byGroup[source.providers] } ?? .empty
    }

    /// The clients of the file and their changes, for operators.
    package var catalogue: ClientCatalogue { self.state.withLock { $0.catalogue } }

    /// Creates a registry without changes.
    ///
    /// - Parameters:
    ///   - base: The clients of the file, for checking changes. The default accepts no change.
    ///   - groups: The groups of providers that share hosts. Each group has its own view (`clients(of:)`).
    package init(_ clients: [ClientSettings], base: ClientBase = ClientBase(), groups: [[String]] = []) {
        self.base = base
        self.file = clients
        self.groups = groups
        self.source = nil
        self.state = Mutex(
            State(
                snapshot: ClientSnapshot(clients),
                byGroup: Self.byGroup(groups, clients),
                catalogue: ClientCatalogue(base: base, changes: [:], withheld: [:])
            )
        )
    }

    private init(_ source: ClientRegistry, of providers: [String]) {
        self.base = source.base
        self.file = []
        self.groups = []
        self.source = (source, providers)
        self.state = Mutex(
            State(
                snapshot: .empty,
                byGroup: [:],
                catalogue: ClientCatalogue(base: source.base, changes: [:], withheld: [:])
            )
        )
    }

    /// Returns a view of this registry with only those clients that serve users of these providers.
    ///
    /// - Parameter providers: One of the groups.
    package func clients(of providers: [String]) -> ClientRegistry { ClientRegistry(self, of: providers) }

    private static func byGroup(
        _ groups: [[String]],
        _ clients: [ClientSettings],
        _ beginnings: [String: UnixTime] = [:],
        isComplete: Bool = true
    ) -> [[String]: ClientSnapshot] {
        var snapshots: [[String]: ClientSnapshot] = [:]
        for group in groups {
            let known = clients.filter { $0.isKnown(to: group) }
            snapshots[group] = ClientSnapshot(known, beginnings: beginnings, isComplete: isComplete)
        }
        return snapshots
    }

    /// Replaces all changes. A client whose change makes it invalid is ignored as a whole, because without the change
    /// it may lack a restriction that the operator wanted.
    ///
    /// - Parameters:
    ///   - departures: When clients were last removed from the file, by client id.
    ///   - isComplete: False until the changes have been read from the store once.
    package func adopt(
        _ changes: [String: RuntimeClient],
        departures: [String: UnixTime] = [:],
        isComplete: Bool = true
    ) {
        var admitted: [String: ClientDefinition?] = [:]
        var withheld: [String: ClientFault] = [:]
        var clients = self.file
        self.admit(changes.sorted { $0.key < $1.key }[...], &admitted, &clients, &withheld)
        clients.removeAll { withheld[$0.clientID] != nil }
        let beginnings = changes.compactMapValues(\.beginning).merging(departures) { max($0, $1) }
        let next = State(
            snapshot: ClientSnapshot(clients, beginnings: beginnings, isComplete: isComplete),
            byGroup: Self.byGroup(self.groups, clients, beginnings, isComplete: isComplete),
            catalogue: ClientCatalogue(base: self.base, changes: changes, withheld: withheld)
        )
        self.state.withLock { $0 = next }
    }

    /// Applies all of these changes if they are valid together. Otherwise, tries each half.
    private func admit(
        _ changes: ArraySlice<(key: String, value: RuntimeClient)>,
        _ admitted: inout [String: ClientDefinition?],
        _ clients: inout [ClientSettings],
        _ withheld: inout [String: ClientFault]
    ) {
        guard let first = changes.first else { return }
        var wanted = admitted
        for (id, change) in changes { wanted.updateValue(change.definition(of: id, in: self.base), forKey: id) }
        do throws(ClientFault) {
            clients = try self.base.clients(changed: wanted)
            admitted = wanted
        } catch {
            guard changes.count > 1 else {
                withheld[first.key] = error
                return
            }
            let middle = changes.startIndex + changes.count / 2
            self.admit(changes[..<middle], &admitted, &clients, &withheld)
            self.admit(changes[middle...], &admitted, &clients, &withheld)
        }
    }
}

extension ClientRegistry: ClientDirectory {
    package func hasExisted(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool {
        self.snapshot.hasExisted(clientID, of: realm, since: time)
    }

    package func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool {
        let client = self.snapshot.client(clientID)
        return client?.isFor(realm.name) == true && client?.canCreateTransferToken == true
    }
}
