package import Cryptography
package import NIOCore
package import Sessions
package import Settings
import Synchronization
package import Vocabulary

/// Follows the changes of clients in the store and gives them to the registries of this process. It reads when the
/// store reports a change, and every minute in case a report is lost. If the store fails, the last changes stay in use.
package final class ClientOverlay: DocumentReader, StoreCaller {
    /// A notice for operators.
    package enum Notice: Sendable, Hashable {
        /// The changes cannot be read. The last changes that were read stay in use.
        case unreadable
        /// The changes can be read again.
        case readable
        /// The gateway does not use a client, because the changed client would be invalid in the file.
        case withheld(id: String, fault: String)
    }

    private struct Member: Sendable {
        weak var registry: ClientRegistry?
    }

    /// Called with the invalidations for clients that were removed or created anew.
    package typealias Adopter = @Sendable (_ losses: [Invalidation]) async -> Void

    private struct State: Sendable {
        var changes: [String: RuntimeClient] = [:]
        var members: [Member] = []
        var adopters: [Adopter] = []
        /// The time when each client was last found to be missing from the file, by id.
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
    ///   - clock: The clock that all gateways of the store share.
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

    /// Gives the present and all later changes to the registry. This object does not retain the registry.
    package func attach(_ registry: ClientRegistry) {
        let state = self.state.withLock { state in
            state.members.removeAll { $0.registry == nil }
            state.members.append(Member(registry: registry))
            return state
        }
        registry.adopt(state.changes, departures: state.departures, isComplete: state.hasRead)
    }

    /// Notes that clients have left the file. Everything issued to them so far has ended, even if a client comes back.
    ///
    /// - Parameter former: The ids of the clients that the file had before.
    package func noteDepartures(of former: [String], from base: ClientBase) {
        let now = self.clock.now()
        self.state.withLock { state in
            for id in former where base.definitions[id] == nil { state.departures[id] = now }
        }
    }

    /// Calls `adopter` whenever the snapshots of the registries have changed. `adopter` returns when every event loop
    /// uses the snapshots and knows what has ended because of the change.
    package func notify(_ adopter: @escaping Adopter) {
        self.state.withLock { $0.adopters.append(adopter) }
    }

    /// Whether the changes were read at least once.
    package var hasRead: Bool { self.state.withLock { $0.hasRead } }

    /// Whether the last attempt to read the store failed.
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

    /// A stored change, with the version that a writer must pass.
    struct Standing: Sendable {
        let client: RuntimeClient
        let version: RecordVersion
    }

    /// Returns every change in the store. `nil` if the store cannot be read.
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

    /// Seals documents again that an older secret sealed, so that they are not lost when that secret is removed.
    private func reseal(_ listed: [ListedDocument<ClientChange>]) async {
        let now = self.clock.now()
        guard self.follower.maySeal(now) else { return }
        self.follower.noteSealed(now)
        for entry in listed where !self.ring.isCurrent(entry.stored.record.sealed) {
            // The change is valid even if writing fails. A later read seals it.
            guard let client = try? self.opened(entry.stored.record, id: entry.id) else { continue }
            _ = try? await self.put(client, id: entry.id, judged: entry.stored.version)
        }
    }

    /// Returns the change of one client, read directly from the store. `nil` if the client has no change.
    func standing(_ id: String) async throws(NotDone) -> Standing? {
        let stored = try await self.ask { store, loop in store.document(id, as: ClientChange.self, on: loop) }
        guard let stored else { return nil }
        return Standing(client: try self.opened(stored.record, id: id), version: stored.version)
    }

    /// Writes the change. Returns false if the stored version is no longer `judged`.
    ///
    /// - Throws: `client.invalid` if the change is too large.
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

    /// Deletes the change of a client, so that the file alone defines the client.
    func forget(_ id: String) async throws(NotDone) {
        _ = try await self.ask { store, loop in
            store.delete(DocumentKey(collection: ClientChange.collection, id: id), on: loop)
        }
    }

    var now: UnixTime { self.clock.now() }
}

extension NotDone {
    /// Creates the error for a change that would make the client invalid in the file.
    package init(_ fault: ClientFault) { self.init(.clientInvalid, text: fault.sentence) }
}
