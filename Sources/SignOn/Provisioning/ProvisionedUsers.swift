import Cryptography
import NIOCore
package import Sessions
import Vocabulary

/// The users that providers have created by SCIM, in the store.
///
/// The users of a provider are distributed over pages by a hash of their ids, and their names over other pages, so that
/// each act reads and writes a few pages, whatever the number of users is.
package final class ProvisionedUsers: DocumentReader, StoreCaller {
    /// The number of pages with users, and of pages with names, for each provider.
    private static let pages = 1024
    /// The maximum number of users on a page. There is room for 131,072 users of a provider.
    private static let usersPerPage = 128
    /// The maximum number of tries to change a page while others change it, and to find a page with room.
    private static let tries = 8

    let store: any RecordStore
    let loops: any EventLoopGroup
    private let clock: Clock
    package let follower: DocumentFollower

    package init(records: RecordAccess) {
        self.store = records.store
        self.loops = records.loops
        self.clock = records.clock
        self.follower = DocumentFollower(loops: records.loops, interval: .seconds(60))
    }

    // MARK: Finding

    /// Returns the user with this id. `nil` if none exists.
    func user(_ id: String, in realm: Realm) async throws(NotDone) -> ProvisionedUser? {
        try await self.entry(id, as: ProvisionedUser.self, in: realm)
    }

    /// Returns the user for whom the attribute has this value. `nil` if none exists.
    func user(
        where attribute: ProvisionedAttribute,
        is value: String,
        in realm: Realm
    ) async throws(NotDone) -> ProvisionedUser? {
        try await self.user(named: attribute.key(value), in: realm)
    }

    private func user(named name: String, in realm: Realm) async throws(NotDone) -> ProvisionedUser? {
        guard let found = try await self.entry(name, as: ProvisionedName.self, in: realm),
            let user = try await self.user(found.id, in: realm), user.names.contains(name)
        else { return nil }
        return user
    }

    /// Returns all users, in the order of their ids. Reads every page.
    func all(in realm: Realm) async throws(NotDone) -> [ProvisionedUser] {
        let pages = try await self.ask { store, loop in
            store.documents(of: ProvisioningPage<ProvisionedUser>.self, on: loop)
        }
        return pages.filter { $0.id.hasSuffix(Self.suffix(realm)) }.flatMap(\.stored.record.entries)
            .sorted { $0.id < $1.id }
    }

    private func entry<Entry: ProvisioningEntry>(
        _ key: String,
        as kind: Entry.Type,
        in realm: Realm
    ) async throws(NotDone) -> Entry? {
        let page = Self.page(of: key, realm)
        let stored = try await self.ask { store, loop in
            store.document(page, as: ProvisioningPage<Entry>.self, on: loop)
        }
        return stored?.record.entries.first { $0.key.isExactly(key) }
    }

    // MARK: Changing

    /// Adds a user with a new id, and returns the user.
    ///
    /// - Throws: `scim.exists` if another user has one of the names; `store.full`.
    func add(_ draft: ProvisionedUser, in realm: Realm) async throws(NotDone) -> ProvisionedUser {
        for _ in 0..<Self.tries {
            var user = draft
            user.id = Random.base64URL(16)
            let isAdded = try await self.change(user.id, in: realm) { [user] (entries: inout [ProvisionedUser]) in
                guard entries.count < Self.usersPerPage else { return false }
                entries.append(user)
                return true
            }
            guard isAdded else { continue }
            do throws(NotDone) {
                for name in user.names { try await self.claim(name, for: user.id, in: realm) }
            } catch {
                try? await self.remove(user, in: realm)
                throw error
            }
            return user
        }
        throw NotDone(.storeFull)
    }

    /// Replaces a user.
    ///
    /// - Returns: The user as stored. `nil` if somebody else has changed or removed the user since `old` was read.
    /// - Throws: `scim.exists` if another user has one of the new names.
    func replace(
        _ old: ProvisionedUser,
        with draft: ProvisionedUser,
        in realm: Realm
    ) async throws(NotDone) -> ProvisionedUser? {
        var new = draft
        new.revision = old.revision &+ 1
        for name in new.names where !old.names.contains(name) { try await self.claim(name, for: old.id, in: realm) }
        let isReplaced = try await self.change(old.id, in: realm) { [new] (entries: inout [ProvisionedUser]) in
            guard let index = entries.firstIndex(of: old) else { return false }
            entries[index] = new
            return true
        }
        let (gone, kept) = isReplaced ? (old, new) : (new, old)
        for name in gone.names where !kept.names.contains(name) { try await self.release(name, of: old.id, in: realm) }
        return isReplaced ? new : nil
    }

    func remove(_ user: ProvisionedUser, in realm: Realm) async throws(NotDone) {
        try await self.change(user.id, in: realm) { (entries: inout [ProvisionedUser]) in
            entries.removeAll { $0.id == user.id }
        }
        for name in user.names { try await self.release(name, of: user.id, in: realm) }
    }

    /// Makes a name the name of the user. A name that no user has any longer is free.
    private func claim(_ name: String, for id: String, in realm: Realm) async throws(NotDone) {
        for _ in 0..<Self.tries {
            let holder = try await self.entry(name, as: ProvisionedName.self, in: realm)?.id
            if holder != id, try await self.user(named: name, in: realm) != nil { throw NotDone(.scimExists) }
            let isClaimed = try await self.change(name, in: realm) { (entries: inout [ProvisionedName]) in
                let index = entries.firstIndex { $0.key == name }
                guard index.map({ entries[$0].id }) == holder else { return false }
                if let index { entries[index].id = id } else { entries.append(ProvisionedName(key: name, id: id)) }
                return true
            }
            if isClaimed { return }
        }
        throw NotDone(.storeUnavailable)
    }

    private func release(_ name: String, of id: String, in realm: Realm) async throws(NotDone) {
        try await self.change(name, in: realm) { (entries: inout [ProvisionedName]) in
            entries.removeAll { $0.key == name && $0.id == id }
        }
    }

    /// Changes the page of a key by compare-and-swap.
    @discardableResult
    private func change<Entry: ProvisioningEntry, Answer>(
        _ key: String,
        in realm: Realm,
        _ change: (inout [Entry]) -> Answer
    ) async throws(NotDone) -> Answer {
        let page = Self.page(of: key, realm)
        for _ in 0..<Self.tries {
            let present = try await self.ask { store, loop in
                store.document(page, as: ProvisioningPage<Entry>.self, on: loop)
            }
            var next = present?.record ?? ProvisioningPage(entries: [])
            let answer = change(&next.entries)
            guard next.entries != present?.record.entries ?? [] else { return answer }
            if try await self.put(next, as: page, judged: present?.version) { return answer }
        }
        throw NotDone(.storeUnavailable)
    }

    private func put<Entry: ProvisioningEntry>(
        _ page: ProvisioningPage<Entry>,
        as id: String,
        judged: RecordVersion?
    ) async throws(NotDone) -> Bool {
        let attempt = AttemptID(value: Random.base64URL(16))
        return try await self.ask { store, loop in
            store.put(page, id: id, judged: judged, attempt: attempt, on: loop)
        } == .done
    }

    /// Returns the id of the document with the page of a key.
    private static func page(of key: String, _ realm: Realm) -> String {
        let hash = SHA256.digest(Array(key.utf8)).bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        return "\(hash % Self.pages)\(Self.suffix(realm))"
    }

    private static func suffix(_ realm: Realm) -> String { " \(realm.name)" }

    // MARK: Life

    /// Returns false: each act reads what it needs.
    package func reads(_ name: DocumentName) -> Bool { false }

    /// Writes all pages again once a day while several secrets are in use, because the store names and seals a document
    /// under the secret that was current when it was written.
    package func readDocuments() async -> Bool {
        let now = self.clock.now()
        guard self.follower.maySeal(now) else { return true }
        self.follower.noteSealed(now)
        await self.reseal(ProvisionedUser.self)
        await self.reseal(ProvisionedName.self)
        return true
    }

    private func reseal<Entry: ProvisioningEntry>(_ kind: Entry.Type) async {
        guard self.store.names(of: DocumentKey(collection: Entry.collection, id: "")).count > 1 else { return }
        let pages = try? await self.ask { store, loop in store.documents(of: ProvisioningPage<Entry>.self, on: loop) }
        // A page that cannot be written now stays readable until the former secret is removed.
        for page in pages ?? [] {
            _ = try? await self.put(page.stored.record, as: page.id, judged: page.stored.version)
        }
    }
}
