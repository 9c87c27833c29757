import Cryptography
package import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// Writes and finds the blocks of users (`UserBlock`).
///
/// A block is looked up when a user signs in or presents a provider's token. Requests with the gateway's own sessions
/// need no lookup, because blocking a user also ends all sessions and tokens.
///
/// A failover or restart may lose a block from the store. Each gateway therefore remembers all blocks, applies them,
/// and writes lost blocks again.
package final class UserBlocks: DocumentReader, StoreCaller {
    private struct Memory {
        /// The last known block for each name. Names are compared byte by byte.
        var blocks: [[UInt8]: UserBlock] = [:]
        /// The time when the blocks were last read. `nil` if they were never read.
        var readAt: UnixTime?

        /// Returns whether the blocks were read in the last 15 minutes. An older memory may contain a block that
        /// another gateway has lifted and deleted.
        func isRecent(at now: UnixTime) -> Bool { self.readAt.map { now.since($0) < .seconds(900) } ?? false }

        /// Stores a block unless a later one is known.
        mutating func note(_ block: UserBlock, as name: [UInt8]) {
            if let known = self.blocks[name], known.changedAt > block.changedAt { return }
            self.blocks[name] = block
        }
    }

    /// How long the store keeps a block after its end. Longer than a gateway uses its memory without a read.
    private static let afterlife = Duration.seconds(3600)
    /// The maximum number of tries to write a block while other operators change it.
    private static let tries = 8

    let store: any RecordStore
    let loops: any EventLoopGroup
    private let clock: Clock
    package let follower: DocumentFollower
    private let memory = Mutex(Memory())
    private let match = Mutex<ProvisioningMatch?>(nil)

    /// - Parameter clock: The clock that all gateways of the store share.
    init(store: any RecordStore, loops: any EventLoopGroup, clock: Clock) {
        self.store = store
        self.loops = loops
        self.clock = clock
        self.follower = DocumentFollower(loops: loops, interval: .seconds(1))
    }

    // MARK: Users

    /// Sets how SCIM names users, at the start and at a reload. `nil` without SCIM.
    package func adopt(_ match: ProvisioningMatch?) { self.match.withLock { $0 = match } }

    /// Returns the name under which SCIM blocks the user by a trait (`ProvisioningMatch.name`). `nil` if there is none.
    func provisionedName(of user: Identity) -> String? { self.match.withLock { $0?.name(of: user) } }

    /// Returns whether the user is blocked now.
    package func isBlocked(_ user: Identity, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        let names =
            (user.isAccount ? [user.subject, user.subjectAtProvider] : [user.subject])
            + [self.provisionedName(of: user)].compactMap(\.self)
        let asked = names.map { self.store.document($0, as: UserBlock.self, on: loop) }
        return EventLoopFuture.whenAllSucceed(asked, on: loop).map { found in
            let now = self.clock.now()
            return zip(names, found).contains { name, stored in
                self.latest(of: name, stored?.record, at: now)?.isInForce(at: now) ?? false
            }
        }
    }

    /// Checks that the user is not blocked now.
    ///
    /// - Throws: `signin.blocked`, or an outage of the store.
    func admit(_ user: Identity) async throws(NotDone) {
        let isBlocked = try await self.ask { _, loop in self.isBlocked(user, on: loop) }
        if isBlocked { throw NotDone(.signInBlocked) }
    }

    /// Returns the newer of the stored block and the remembered block.
    private func latest(of name: String, _ stored: UserBlock?, at now: UnixTime) -> UserBlock? {
        let known = self.memory.withLock { $0.isRecent(at: now) ? $0.blocks[Array(name.utf8)] : nil }
        guard let known, let stored else { return known ?? stored }
        return known.changedAt > stored.changedAt ? known : stored
    }

    // MARK: Operators

    /// Returns the blocks that are in force, one for each blocked user.
    package func all() async throws(NotDone) -> [UserBlock] {
        let now = self.clock.now()
        return try await self.listed().filter { entry in
            entry.stored.record.isInForce(at: now) && entry.stored.record.names.first?.isExactly(entry.id) == true
        }.map(\.stored.record)
    }

    /// Writes the block under each of its names, beside a block of the other kind (`UserBlock.added`). The caller then
    /// ends all sessions under these names.
    package func put(_ block: UserBlock) async throws(NotDone) {
        for name in block.names {
            do throws(NotDone) {
                try await self.write(name) { block.added(to: $0, at: $1) }
            } catch {
                guard error.reason == .storeFull else { throw error }
                // Reading the blocks frees space, because it deletes blocks that ended long ago.
                await self.refresh()
                try await self.write(name) { block.added(to: $0, at: $1) }
            }
        }
    }

    /// Lifts the blocks under these names, and under all names that were blocked together with such a name, including
    /// the blocks by SCIM.
    ///
    /// - Parameter operator: The name of the operator.
    package func lift(_ names: [String], by operator: String) async throws(NotDone) {
        let now = self.clock.now()
        let standing = try await self.listed().filter { $0.stored.record.isInForce(at: now) }
        let all = standing.map(\.stored.record.names).filter { $0.contains { $0.isExactlyOne(of: names) } }
            .reduce(names, +)
        for entry in standing where entry.id.isExactlyOne(of: all) {
            try await self.write(entry.id) { present, now in
                var block = present ?? entry.stored.record
                (block.until, block.changedBy, block.isDeprovisioned) = (now, `operator`, false)
                return block
            }
        }
    }

    /// A block as it is stored under one of its names.
    package typealias Named = (name: String, block: UserBlock)

    /// Returns the blocks by SCIM under these names, and under all names that were blocked together with such a name.
    package func deprovisioned(_ names: [String]) async throws(NotDone) -> [Named] {
        var found: [Named] = []
        for name in names {
            for other in try await self.known(name)?.names ?? [] where !other.isExactlyOne(of: found.map(\.name)) {
                if let block = try await self.known(other), block.isDeprovisioned { found.append((other, block)) }
            }
        }
        return found
    }

    /// Lifts these blocks by SCIM. An operator's block stays, and so does a block that has changed since it was read.
    ///
    /// - Parameter operator: The name of the operator's token that SCIM uses.
    package func reinstate(_ blocks: [Named], by operator: String) async throws(NotDone) {
        for (name, known) in blocks {
            try await self.write(name) { present, now in
                var block = present ?? known
                guard block.changedAt == known.changedAt else { return nil }
                if !block.isOfOperator(at: now) { (block.until, block.changedBy) = (now, `operator`) }
                block.isDeprovisioned = false
                return block
            }
        }
    }

    private func known(_ name: String) async throws(NotDone) -> UserBlock? {
        self.latest(of: name, try await self.stored(name)?.record, at: self.clock.now())
    }

    // MARK: Life

    package func reads(_ name: DocumentName) -> Bool { name.collection == UserBlock.collection }

    package func readDocuments() async -> Bool {
        let begunAt = self.clock.now()
        let known = self.memory.withLock { memory in
            if !memory.isRecent(at: begunAt) { memory.blocks = [:] }
            return memory.blocks
        }
        guard let listed = try? await self.listed() else { return false }
        let now = self.clock.now()
        let stored = Dictionary(listed.map { (Array($0.id.utf8), $0.stored) }) { $1 }
        self.memory.withLock { memory in
            for (name, stored) in stored { memory.note(stored.record, as: name) }
            memory.blocks = memory.blocks.filter { !Self.isPast($0.value, at: now) }
            memory.readAt = now
        }
        await self.removePast(listed, at: now)
        await self.reseal(listed, at: now)
        return await self.restore(known, in: stored, at: now)
    }

    /// Writes blocks again that the store has lost, and ends the users' sessions again, because the store may have lost
    /// those ends, too.
    ///
    /// - Returns: False if a block could not be written.
    private func restore(
        _ known: [[UInt8]: UserBlock],
        in stored: [[UInt8]: Stored<UserBlock>],
        at now: UnixTime
    ) async -> Bool {
        var isDone = true
        for (name, block) in known {
            let present = stored[name]
            guard present.map({ $0.record.changedAt < block.changedAt }) ?? block.isInForce(at: now) else { continue }
            let name = String(decoding: name, as: UTF8.self)
            do throws(NotDone) {
                if block.isInForce(at: now) { try await self.ask { $0.end(subject: name, on: $1) } }
                // If another gateway has written the block, the next read finds it.
                isDone = try await self.replace(present?.version, with: block, as: name) && isDone
            } catch {
                isDone = false
            }
        }
        return isDone
    }

    private static func isPast(_ block: UserBlock, at now: UnixTime) -> Bool {
        !block.isDeprovisioned && (block.until.map { $0.advanced(by: Self.afterlife) <= now } ?? false)
    }

    /// Deletes blocks that ended long ago. A block that is renewed at this moment may be deleted, too. The gateway that
    /// renewed the block then restores it.
    private func removePast(_ listed: [ListedDocument<UserBlock>], at now: UnixTime) async {
        for entry in listed where Self.isPast(entry.stored.record, at: now) {
            _ = try? await self.ask { store, loop in store.delete(Self.key(entry.id), on: loop) }
        }
    }

    /// Writes all blocks again, at most once a day, while several secrets are accepted. Documents under an older secret
    /// would be lost with that secret.
    private func reseal(_ listed: [ListedDocument<UserBlock>], at now: UnixTime) async {
        guard self.follower.maySeal(now) else { return }
        self.follower.noteSealed(now)
        for entry in listed where self.store.names(of: Self.key(entry.id)).count > 1 {
            // The store forgets versions of a long list, so the block is read again. It applies even if writing it
            // fails.
            guard let stored = try? await self.stored(entry.id) else { continue }
            _ = try? await self.replace(stored.version, with: stored.record, as: entry.id)
        }
    }

    // MARK: Steps

    private static func key(_ name: String) -> DocumentKey {
        DocumentKey(collection: UserBlock.collection, id: name)
    }

    private func stored(_ name: String) async throws(NotDone) -> Stored<UserBlock>? {
        try await self.ask { store, loop in store.document(name, as: UserBlock.self, on: loop) }
    }

    private func listed() async throws(NotDone) -> [ListedDocument<UserBlock>] {
        try await self.ask { store, loop in store.documents(of: UserBlock.self, on: loop) }
    }

    /// Writes a block under one of its names.
    ///
    /// - Parameter change: Returns the block for the present block and the present time. `nil` if the present block
    ///   stays.
    private func write(_ name: String, _ change: (UserBlock?, UnixTime) -> UserBlock?) async throws(NotDone) {
        for _ in 0..<Self.tries {
            let present = try await self.stored(name)
            let now = self.clock.now()
            let last = self.latest(of: name, present?.record, at: now)
            guard var block = change(last, now) else { return }
            block.changedAt = last.map { max(now, $0.changedAt.advanced(by: .milliseconds(1))) } ?? now
            if try await self.replace(present?.version, with: block, as: name) { return }
        }
        throw NotDone(.storeUnavailable)
    }

    /// - Returns: False if the store no longer has the judged version.
    private func replace(
        _ judged: RecordVersion?,
        with block: UserBlock,
        as name: String
    ) async throws(NotDone) -> Bool {
        let attempt = AttemptID(value: Random.base64URL(16))
        let replacement = try await self.ask { store, loop in
            store.put(block, id: name, judged: judged, attempt: attempt, on: loop)
        }
        guard replacement == .done else { return false }
        self.memory.withLock { $0.note(block, as: Array(name.utf8)) }
        return true
    }
}
