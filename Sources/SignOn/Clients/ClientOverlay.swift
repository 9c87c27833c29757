package import Cryptography
package import NIOCore
package import Sessions
package import Settings
import Synchronization
package import Vocabulary

/// Reads the clients' changes from the store and passes them to the registries of this process. Reads after each
/// reported change and once a minute. If a read fails, the last known changes stay in use.
package final class ClientOverlay: DocumentReader, StoreCaller {
    /// A notice for operators.
    package enum Notice: Sendable, Hashable {
        /// The changes cannot be read. The last known changes stay in use.
        case unreadable
        /// The changes can be read again.
        case readable
        /// The gateway ignores a client, because its change makes it invalid.
        case withheld(id: String, fault: String)
    }

    private struct Member: Sendable {
        weak var registry: ClientRegistry?
    }

    /// Called after each change, with the invalidations that it causes (`ClientSnapshot.losses`).
    package typealias Adopter = @Sendable (_ losses: [Invalidation]) async -> Void

    private struct State: Sendable {
        var changes: [String: RuntimeClient] = [:]
        var members: [Member] = []
        var adopters: [Adopter] = []
        /// When clients were last removed from the file, by client id.
        var departures: [String: UnixTime] = [:]
        var hasRead = false
        var isUnreadable = false
        var withheld: [String: String] = [:]
    }

    let store: any DocumentStore
    let ring: SealingKeyRing
    let loops: any EventLoopGroup
    private let clock: Clock
    private let report: @Sendable (Notice) -> Void
    package let follower: DocumentFollower
    private let state = Mutex(State())

    /// - Parameters:
    ///   - clock: The clock of all gateways that share the store.
    ///   - report: Called once for each notice, on any thread.
    package init(
        store: any DocumentStore,
        ring: SealingKeyRing,
        loops: any EventLoopGroup,
        clock: Clock,
        report: @escaping @Sendable (Notice) -> Void = { _ in }
    ) {
        self.store = store
        self.ring = ring
        self.loops = loops
        self.clock = clock
        self.report = report
        self.follower = DocumentFollower(loops: loops, interval: .seconds(1))
    }

    // MARK: Registries

    /// Gives the registry the current changes and all later ones. The registry is held weakly.
    package func attach(_ registry: ClientRegistry) {
        let state = self.state.withLock { state in
            state.members.removeAll { $0.registry == nil }
            state.members.append(Member(registry: registry))
            return state
        }
        registry.adopt(state.changes, departures: state.departures, isComplete: state.hasRead)
    }

    /// Notes which clients were removed from the file. Their tokens have ended, even if the clients come back.
    ///
    /// - Parameter former: The ids of the clients in the previous file.
    package func noteDepartures(of former: [String], from base: ClientBase) {
        let now = self.clock.now()
        self.state.withLock { state in
            for id in former where base.definitions[id] == nil { state.departures[id] = now }
        }
    }

    /// Calls `adopter` after each change. `adopter` must return only when every event loop uses the new snapshots and
    /// knows the invalidations.
    package func notify(_ adopter: @escaping Adopter) {
        self.state.withLock { $0.adopters.append(adopter) }
    }

    /// Whether the changes have been read at least once.
    package var hasRead: Bool { self.state.withLock { $0.hasRead } }

    /// Whether the last read failed.
    package var isUnreadable: Bool { self.state.withLock { $0.isUnreadable } }

    // MARK: Life

    package func reads(_ name: DocumentName) -> Bool { name.collection == ClientChange.collection }

    package func readDocuments() async -> Bool {
        let read = await self.read()
        let wasUnreadable = self.state.withLock { state in
            defer { state.isUnreadable = read == nil }
            return state.isUnreadable
        }
        if wasUnreadable != (read == nil) { self.report(read == nil ? .unreadable : .readable) }
        if let read { await self.adopt(read) }
        return read != nil
    }

    private func adopt(_ changes: [String: RuntimeClient]) async {
        let (isNews, state) = self.state.withLock { state in
            defer {
                state.changes = changes
                state.hasRead = true
            }
            return (state.changes != changes || !state.hasRead, state)
        }
        guard isNews else { return }
        let registries = state.members.compactMap(\.registry)
        var losses: [Invalidation] = []
        for registry in registries {
            let former = registry.snapshot
            registry.adopt(changes, departures: state.departures)
            losses += registry.snapshot.losses(since: former)
        }
        self.reportFaults(of: registries.last)
        for adopter in state.adopters { await adopter(losses) }
    }

    private func reportFaults(of registry: ClientRegistry?) {
        let faults = registry?.catalogue.withheld.mapValues(\.sentence) ?? [:]
        let former = self.state.withLock { state in
            defer { state.withheld = faults }
            return state.withheld
        }
        for (id, fault) in faults.sorted(by: { $0.key < $1.key }) where former[id] != fault {
            self.report(.withheld(id: id, fault: fault))
        }
    }

    // MARK: The store

    /// A stored change, with the version for replacing it.
    struct Standing: Sendable {
        let client: RuntimeClient
        let version: RecordVersion
    }

    /// Returns all changes in the store. `nil` if the store cannot be read, or a secret cannot be unsealed.
    private func read() async -> [String: RuntimeClient]? {
        do {
            let listed = try await self.ask { store, loop in store.documents(of: ClientChange.self, on: loop) }
            var changes: [String: RuntimeClient] = [:]
            for entry in listed { changes[entry.id] = try self.opened(entry.stored.record, id: entry.id) }
            await self.reseal(listed)
            return changes
        } catch {
            return nil
        }
    }

    private func opened(_ change: ClientChange, id: String) throws(NotDone) -> RuntimeClient {
        do throws(SealingError) {
            return try change.opened(id, self.ring)
        } catch {
            throw NotDone(.storeUnavailable)
        }
    }

    /// Seals changes again that an older secret has sealed. Otherwise, removing that secret would lose them.
    private func reseal(_ listed: [ListedDocument<ClientChange>]) async {
        let now = self.clock.now()
        guard self.follower.maySeal(now) else { return }
        self.follower.noteSealed(now)
        for entry in listed where !self.ring.isCurrent(entry.stored.record.sealed) {
            // If writing fails, the change stays valid, and a later read tries again.
            guard let client = try? self.opened(entry.stored.record, id: entry.id) else { continue }
            _ = try? await self.put(client, id: entry.id, judged: entry.stored.version)
        }
    }

    /// Reads one client's change from the store. `nil` if the client has no change.
    func standing(_ id: String) async throws(NotDone) -> Standing? {
        let stored = try await self.ask { store, loop in store.document(id, as: ClientChange.self, on: loop) }
        guard let stored else { return nil }
        return Standing(client: try self.opened(stored.record, id: id), version: stored.version)
    }

    /// Writes a change. Returns false if another gateway has changed the client since version `judged` was read.
    ///
    /// - Throws: `client.invalid` if the change is too large; an outage of the store.
    func put(_ client: RuntimeClient, id: String, judged: RecordVersion?) async throws(NotDone) -> Bool {
        let change = ClientChange(client, id: id, ring: self.ring)
        let attempt = AttemptID(value: Random.base64URL(16))
        do throws(RecordTooLarge) {
            _ = try change.encoded(id: id, attempt: attempt)
        } catch {
            throw NotDone(
                ClientFault(
                    of: id,
                    key: "(the whole client)",
                    found: "\(error.size) bytes",
                    allowed: "at most \(error.limit) bytes",
                    fix: "remove members"
                )
            )
        }
        return try await self.ask { store, loop in
            store.put(change, id: id, judged: judged, attempt: attempt, on: loop)
        } == .done
    }

    /// Deletes a client's change, so that only the file defines the client.
    func forget(_ id: String) async throws(NotDone) {
        _ = try await self.ask { store, loop in
            store.delete(DocumentKey(collection: ClientChange.collection, id: id), on: loop)
        }
    }

    var now: UnixTime { self.clock.now() }
}

extension NotDone {
    /// Creates the `client.invalid` error for a fault.
    package init(_ fault: ClientFault) { self.init(.clientInvalid, text: fault.sentence) }
}
