import Sessions
package import Settings
import Synchronization
package import Vocabulary

/// The source of snapshots of the OAuth clients. Each configuration has one registry, shared by the request path, the
/// token endpoint, and all event loops.
///
/// The clients are those in the file, overlaid with the changes at run time. Readers keep the registry. They keep a
/// client or a snapshot only for one request, so that all readers see a change at once. An event loop keeps its own
/// snapshot, and never waits for the registry's lock. Every change replaces the snapshot.
package final class ClientRegistry: Sendable {
    private struct State: Sendable {
        var snapshot: ClientSnapshot
        /// The snapshot for each list of providers that share hosts.
        var byGroup: [[String]: ClientSnapshot]
        var catalogue: ClientCatalogue
    }

    package let base: ClientBase
    private let file: [ClientSettings]
    /// The lists of providers that share hosts.
    private let groups: [[String]]
    private let state: Mutex<State>
    /// If this registry is a view: the registry behind it, and the providers whose users it serves. `nil` otherwise.
    private let source: (registry: ClientRegistry, providers: [String])?

    /// The current clients. A request that needs clients more than once takes the snapshot once.
    package var snapshot: ClientSnapshot {
        guard let source = self.source else { return self.state.withLock { $0.snapshot } }
        return source.registry.state.withLock { $0.byGroup[source.providers] } ?? .empty
    }

    /// The file's clients and their changes, for operators.
    package var catalogue: ClientCatalogue { self.state.withLock { $0.catalogue } }

    /// Creates the registry of the clients in the configuration.
    ///
    /// - Parameters:
    ///   - base: The check of changes to the clients. With the default, no change takes effect.
    ///   - groups: The lists of providers that share hosts (`clients(of:)`).
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

    /// Returns a view of this registry for the hosts of these providers. Its snapshots contain only the clients that
    /// serve users of these providers.
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

    /// Overlays the clients of the file with exactly these changes. If a change does not fit the file, its client is
    /// not used at all, because the file's version may lack a restriction that the operator wanted.
    ///
    /// - Parameters:
    ///   - departures: The times when clients were last found to be missing from the file.
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

    /// Admits all of these changes if they fit; otherwise, tries each half separately.
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
    package func hasKept(_ clientID: String, of realm: Realm, since time: UnixTime) -> Bool {
        self.snapshot.hasKept(clientID, of: realm, since: time)
    }

    package func createsTransferTokens(_ clientID: String, of realm: Realm) -> Bool {
        let client = self.snapshot.client(clientID)
        return client?.isFor(realm.name) == true && client?.canCreateTransferToken == true
    }
}
