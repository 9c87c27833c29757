import Cryptography
import NIOCore
package import Sessions
import Vocabulary

/// The users that providers have created by SCIM, in the store.
///
/// The users of a provider and their names are distributed over pages by hashes, so that a change reads and writes a
/// few pages, whatever the number of users is.
package final class ProvisionedUsers: DocumentReader, StoreCaller {
    /// The number of pages for each provider.
    private static let pages = 1024
    /// The maximum number of users on a page.
    private static let usersPerPage = 128
    /// The maximum number of tries to change a page while others change it.
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
        try await self.page(Self.page(of: id, realm))?.record.users.first { $0.id.isExactly(id) }
    }

    /// Returns the user with this name (`ProvisionedAttribute.name`). `nil` if none exists.
    func user(named name: String, in realm: Realm) async throws(NotDone) -> ProvisionedUser? {
        guard let id = try await self.page(Self.page(of: name, realm))?.record.ids[name],
            let user = try await self.user(id, in: realm), user.names.contains(name)
        else { return nil }
        return user
    }

    /// Returns all users, in the order of their ids. Reads every page.
    func all(in realm: Realm) async throws(NotDone) -> [ProvisionedUser] {
        let pages = try await self.ask { store, loop in store.documents(of: ProvisioningPage.self, on: loop) }
        return pages.filter { $0.id.hasSuffix(Self.suffix(realm)) }.flatMap(\.stored.record.users)
            .sorted { $0.id < $1.id }
    }

    // MARK: Changing

    /// Writes `new` instead of `old`. `nil` means that the user is created or removed.
    ///
    /// - Returns: False if `old` is no longer stored.
    /// - Throws: `scim.exists` if another user has one of the names; `store.full`.
    func replace(
        _ old: ProvisionedUser?,
        with new: ProvisionedUser?,
        in realm: Realm
    ) async throws(NotDone) -> Bool {
        guard try await self.swap(old, new, in: realm) else { return false }
        do throws(NotDone) {
            // Names are claimed after the user has them, so that one of two users with the same name gives way.
            for name in new?.names ?? [] { try await self.claim(name, for: new?.id, in: realm) }
        } catch {
            _ = try? await self.swap(new, old, in: realm)
            throw error
        }
        for name in old?.names ?? [] where new?.names.contains(name) != true {
            _ = try await self.change(Self.page(of: name, realm)) { page in
                guard let id = page.ids[name], id == old?.id else { return false }
                page.ids[name] = nil
                return true
            }
        }
        return true
    }

    /// Replaces the entry of a user, without its names.
    private func swap(
        _ old: ProvisionedUser?,
        _ new: ProvisionedUser?,
        in realm: Realm
    ) async throws(NotDone) -> Bool {
        guard let id = (new ?? old)?.id else { return false }
        return try await self.change(Self.page(of: id, realm)) { (page) throws(NotDone) in
            guard page.users.first(where: { $0.id == id }) == old else { return false }
            page.users.removeAll { $0.id == id }
            guard let new else { return true }
            guard page.users.count < Self.usersPerPage else { throw NotDone(.storeFull) }
            page.users.append(new)
            return true
        }
    }

    /// Makes a name the name of the user. A name that no user has any longer is free.
    private func claim(_ name: String, for id: String?, in realm: Realm) async throws(NotDone) {
        for _ in 0..<Self.tries {
            let holder = try await self.page(Self.page(of: name, realm))?.record.ids[name]
            if holder == id { return }
            if try await self.user(named: name, in: realm) != nil { throw NotDone(.scimExists) }
            let isClaimed = try await self.change(Self.page(of: name, realm)) { page in
                guard page.ids[name] == holder else { return false }
                page.ids[name] = id
                return true
            }
            if isClaimed { return }
        }
        throw NotDone(.storeUnavailable)
    }

    /// Changes the page with this id by compare-and-swap.
    ///
    /// - Parameter change: Returns false if nothing is to be written.
    /// - Returns: What `change` has returned.
    private func change(
        _ id: String,
        _ change: (inout ProvisioningPage) throws(NotDone) -> Bool
    ) async throws(NotDone) -> Bool {
        for _ in 0..<Self.tries {
            let present = try await self.page(id)
            var next = present?.record ?? ProvisioningPage()
            guard try change(&next) else { return false }
            let attempt = AttemptID(value: Random.base64URL(16))
            let replacement = try await self.ask { [next] store, loop in
                store.put(next, id: id, judged: present?.version, attempt: attempt, on: loop)
            }
            if replacement == .done { return true }
        }
        throw NotDone(.storeUnavailable)
    }

    // MARK: Pages

    private func page(_ id: String) async throws(NotDone) -> Stored<ProvisioningPage>? {
        try await self.ask { store, loop in store.document(id, as: ProvisioningPage.self, on: loop) }
    }

    /// Returns the id of the page with a user's id or name.
    private static func page(of key: String, _ realm: Realm) -> String {
        let hash = SHA256.digest(Array(key.utf8)).bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        return "\(hash % Self.pages)\(Self.suffix(realm))"
    }

    private static func suffix(_ realm: Realm) -> String { " \(realm.name)" }

    // MARK: Life

    /// Returns false: each act reads what it needs.
    package func reads(_ name: DocumentName) -> Bool { false }

    /// Writes all pages again, at most once a day, while several secrets are accepted. Pages under an older secret
    /// would be lost with that secret.
    package func readDocuments() async -> Bool {
        let now = self.clock.now()
        guard self.follower.maySeal(now) else { return true }
        self.follower.noteSealed(now)
        guard self.store.names(of: DocumentKey(collection: ProvisioningPage.collection, id: "")).count > 1 else {
            return true
        }
        let pages = try? await self.ask { store, loop in store.documents(of: ProvisioningPage.self, on: loop) }
        // A page that cannot be written now stays readable until the former secret is removed.
        for page in pages ?? [] { _ = try? await self.change(page.id) { _ in true } }
        return true
    }
}
