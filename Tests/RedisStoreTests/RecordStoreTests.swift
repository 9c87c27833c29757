import Cryptography
import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreConformance
import Synchronization
import TestSupport
import Testing
import Vocabulary

extension RedisStoreBench {
    func key(_ kind: RecordKind, in lineage: Lineage) -> RecordKey {
        self.authority.make(TokenKind(prefix: "sp?_", record: kind), in: lineage).key
    }

    func ticket(of parent: NewSession) async throws -> RecordKey {
        let key = self.key(TestTicket.kind, in: parent.key.lineage)
        let ticket = TestTicket.made(from: parent, now: self.clock.now(), life: .seconds(60))
        try await self.store.create(ticket, key: key, on: loops.next()).get()
        return key
    }

    /// The records of one sign-in for many hosts: a ticket, and the family of a session that a handoff has made.
    func hostRecords(of session: NewSession) async throws -> (ticket: RecordKey, family: RecordKey) {
        let now = self.clock.now()
        let ticket = self.key(.hostTicket, in: session.key.lineage)
        let record = HostTicket(
            parent: session.key,
            owner: RecordOwner(subject: session.session.subject, epoch: session.session.epoch),
            host: "app.example.org",
            challenge: SHA256.digest([]),
            issuedAt: now,
            expiresAt: now.advanced(by: HostTicket.lifetime)
        )
        try await self.store.create(record, key: ticket, on: loops.next()).get()
        let member = self.authority.make(.session, in: session.key.lineage).key
        try await HandoffFamily.add(
            member,
            root: session.key,
            parent: session.session,
            former: nil,
            to: self.store,
            on: loops.next()
        ).get()
        let family = RecordKey(kind: HandoffFamily.kind, lineage: session.key.lineage, digest: session.key.digest)
        return (ticket, family)
    }

    func terms(of session: NewSession) -> RecordTerms {
        RecordTerms(of: session, now: self.clock.now(), life: .seconds(3600), hasParent: false)
    }

    func newFamily(of session: NewSession) async throws -> RecordKey {
        let key = self.key(TestFamily.kind, in: session.key.lineage)
        let family = TestFamily(generation: 1, note: "a family's secret", terms: self.terms(of: session))
        let attempt = self.authority.newAttempt()
        #expect(try await self.store.create(family, key: key, attempt: attempt, on: loops.next()).get() == .done)
        return key
    }

    func family(_ key: RecordKey) async throws -> Stored<TestFamily>? {
        try await self.store.replaceable(key, as: TestFamily.self, on: loops.next()).get()
    }

    /// Replaces what stands there with its next generation.
    func rotate(_ key: RecordKey, attempt: AttemptID? = nil) async throws -> Replacement {
        let stored = try #require(try await self.family(key))
        var next = stored.record
        next.generation += 1
        let attempt = attempt ?? self.authority.newAttempt()
        return try await self.store
            .replace(key, judged: stored.version, with: next, attempt: attempt, on: loops.next()).get()
    }

    func document(_ id: String) async throws -> Stored<TestDocument>? {
        try await self.store.document(id, as: TestDocument.self, on: loops.next()).get()
    }

    func documents() async throws -> [String] {
        try await self.store.documents(of: TestDocument.self, on: loops.next()).get().map(\.stored.record.text)
    }

    func put(_ text: String, id: String, judged: RecordVersion? = nil) async throws -> Replacement {
        let attempt = self.authority.newAttempt()
        return try await self.store
            .put(TestDocument(text), id: id, judged: judged, attempt: attempt, on: loops.next()).get()
    }

    func once(_ id: String) async throws -> Bool {
        try await self.store.once(OnceID(scope: "proofs", id: id), for: .seconds(60), on: loops.next()).get()
    }
}

/// What holds of records other than sessions and transfer tokens in Redis.
@Suite struct RecordStoreTests {
    private func withBench(
        _ arguments: [String] = [],
        _ body: (RedisServer, RedisClient, RedisStoreBench) async throws -> Void
    ) async throws {
        try await RedisServer.with(arguments) { server in
            try await withClient(server.configuration()) { client in
                try await body(server, client, RedisStoreBench(client))
            }
        }
    }

    private static func place(of id: String, _ store: RedisStore) -> [UInt8] {
        Keyspace.document(store.names(of: DocumentKey(collection: TestDocument.collection, id: id))[0])
    }

    @Test("Nothing of a record, a document or an id can be read out of Redis, and what expires has a life")
    func nothingReadable() async throws {
        try await self.withBench { _, client, bench in
            let session = try await bench.signIn(subject: "alice")
            _ = try await bench.ticket(of: session)
            _ = try await bench.newFamily(of: session)
            #expect(try await bench.put("a document's secret", id: "client@secret") == .done)
            #expect(try await bench.once("proof@secret"))
            #expect(try await bench.lists([session.key]))
            // Session, idle key, ledger, ticket, family, document, directory, id, list of sessions, that of the address, log
            // of the hour, list of hours; the last are written after the fact.
            try await waitUntil("all that is noted") { try await client.dump().count >= 12 }
            let dump = try await client.dump()
            #expect(dump.count == 12)
            for (key, value) in dump {
                for secret in ["alice", "secret", "ticket"] {
                    #expect(!key.contains(Array(secret.utf8)) && !value.contains(Array(secret.utf8)))
                }
                let reply = try await client.send(RedisCommand("PTTL", [key]), on: loops.next()).get()
                guard case .integer(let life) = reply else { throw RedisError.unexpected }
                let isDocument = key.starts(with: "sp:c:".utf8) || key.starts(with: "sp:d:".utf8)
                #expect(isDocument ? life == -1 : life > 0)
            }
        }
    }

    @Test("What does not unseal, is newer or is of another type is unavailable, never absent")
    func unsealable() async throws {
        try await self.withBench { _, client, bench in
            let session = try await bench.signIn()
            let ticket = try await bench.ticket(of: session)
            let family = try await bench.newFamily(of: session)
            _ = try await bench.put("text", id: "app")
            let document = Self.place(of: "app", bench.store)
            let hosts = try await bench.hostRecords(of: session)
            let reads: [([UInt8], Int, @Sendable () async throws -> Void)] = [
                (
                    Keyspace.record(hosts.ticket), 40,
                    { _ = try await bench.store.singleUse(hosts.ticket, as: HostTicket.self, on: loops.next()).get() }
                ),
                (
                    Keyspace.record(hosts.family), 0,
                    {
                        let store = bench.store
                        _ = try await store.replaceable(hosts.family, as: HandoffFamily.self, on: loops.next()).get()
                    }
                ),
                (
                    Keyspace.record(ticket), 40,
                    { _ = try await bench.store.singleUse(ticket, as: TestTicket.self, on: loops.next()).get() }
                ),
                (Keyspace.record(family), 0, { _ = try await bench.family(family) }),
                (document, 0, { _ = try await bench.document("app") }),
                (document, 0, { _ = try await bench.documents() }),
            ]
            for (place, header, read) in reads {
                let genuine = try #require(try await client.dump()[place])
                var newer = genuine
                newer[header] = 2
                var altered = genuine
                altered[altered.count - 1] ^= 1
                for bytes in [newer, altered, Array(genuine.prefix(header + 10)), []] {
                    _ = try await client.send(RedisCommand("SET", [place, bytes]), on: loops.next()).get()
                    await #expect(throws: StoreError.unavailable) { try await read() }
                }
                _ = try await client.send(RedisCommand("DEL", [place]), on: loops.next()).get()
                try await read()
                _ = try await client.send(RedisCommand("RPUSH", [place, [1]]), on: loops.next()).get()
                await #expect(throws: StoreError.unavailable) { try await read() }
                _ = try await client.send(RedisCommand("DEL", [place]), on: loops.next()).get()
                _ = try await client.send(RedisCommand("SET", [place, genuine]), on: loops.next()).get()
                try await read()
            }
        }
    }

    @Test("A value that nobody judged is not written over, whatever it is")
    func foreignValue() async throws {
        try await self.withBench { _, client, bench in
            let session = try await bench.signIn()
            let family = try await bench.newFamily(of: session)
            let stored = try #require(try await bench.family(family))
            let place = Keyspace.record(family)
            for command in [RedisCommand("SET", [place, [1]]), RedisCommand("RPUSH", [place, [1]])] {
                _ = try await client.send(RedisCommand("DEL", [place]), on: loops.next()).get()
                _ = try await client.send(command, on: loops.next()).get()
                let attempt = bench.authority.newAttempt()
                await #expect(throws: StoreError.unavailable) {
                    try await bench.store.replace(
                        family,
                        judged: stored.version,
                        with: stored.record,
                        attempt: attempt,
                        on: loops.next()
                    ).get()
                }
            }
        }
    }

    @Test("After a restart what is bound to its reign is quarantined, and what is not goes on")
    func restart() async throws {
        try await self.withBench(["--appendonly", "yes", "--appendfsync", "always"]) { server, client, bench in
            let session = try await bench.signIn()
            let family = try await bench.newFamily(of: session)
            let ticket = try await bench.ticket(of: session)
            let grant = bench.key(TestGrant.kind, in: session.key.lineage)
            let first = TestGrant(text: "before", terms: bench.terms(of: session))
            let attempt = bench.authority.newAttempt()
            let created = try await bench.store.create(first, key: grant, attempt: attempt, on: loops.next()).get()
            #expect(created == .done)
            server.kill()
            try await client.waitUntilDisconnected()
            try await server.start()
            try await client.waitUntilConnected()
            #expect(try await bench.rotate(family) == .done)
            let stored = try #require(
                try await bench.store.replaceable(grant, as: TestGrant.self, on: loops.next()).get()
            )
            #expect(stored.record == first)
            func replace(as attempt: AttemptID) async throws -> Replacement {
                try await bench.store
                    .replace(grant, judged: stored.version, with: first, attempt: attempt, on: loops.next()).get()
            }
            #expect(try await replace(as: bench.authority.newAttempt()) == .quarantined)
            // What it did before the restart was done.
            #expect(try await replace(as: attempt) == .done)
            let lookup = try await bench.store.singleUse(ticket, as: TestTicket.self, on: loops.next()).get()
            guard case .live(let judged) = lookup else {
                Issue.record("the ticket is not there")
                return
            }
            let draft = bench.draft(lineage: session.key.lineage)
            let answer = try await bench.store.consume(
                ticket,
                judged: judged.version,
                marker: .used(bench.authority.newAttempt(), session: draft.key),
                creating: TestTicket.offspring(with: draft, now: bench.clock.now()),
                on: loops.next()
            ).get()
            #expect(answer == .quarantined)
            #expect(try await bench.family(TestTicket.family(of: draft.key)) == nil)
        }
    }

    @Test("When memory is out, an id is not new and no record is written; what is there can be ended")
    func outOfMemory() async throws {
        try await self.withBench(["--maxmemory-policy", "noeviction"]) { _, client, bench in
            let session = try await bench.signIn()
            let family = try await bench.newFamily(of: session)
            _ = try await bench.put("text", id: "app")
            #expect(try await bench.once("known"))
            _ = try await client.ask("CONFIG", "SET", "maxmemory", "1")
            await #expect(throws: StoreError.full) { try await bench.once("new") }
            #expect(try await !bench.once("known"))
            await #expect(throws: StoreError.full) { try await bench.rotate(family) }
            await #expect(throws: StoreError.full) { try await bench.put("text", id: "web") }
            #expect(try await bench.family(family)?.record.generation == 1)
            try await bench.store.end(replaceable: family, on: loops.next()).get()
            #expect(try await bench.family(family) == nil)
            let key = DocumentKey(collection: TestDocument.collection, id: "app")
            #expect(try await bench.store.delete(key, on: loops.next()).get())
            _ = try await client.ask("CONFIG", "SET", "maxmemory", "0")
            #expect(try await bench.once("new"))
        }
    }

    @Test("During a rotation of secrets ids stay known and documents are found, replaced and deleted by either gateway")
    func rotation() async throws {
        try await self.withBench { _, client, _ in
            let (old, new) = (Secret("the old secret"), Secret("the new secret"))
            let before = RedisStoreBench(client, ring: SealingKeyRing(current: old, accepted: [new]))
            let after = RedisStoreBench(client, ring: SealingKeyRing(current: new, accepted: [old]))
            for (index, (writer, reader)) in [(before, after), (after, before)].enumerated() {
                #expect(try await writer.once("id \(index)"))
                #expect(try await !reader.once("id \(index)"))
                #expect(try await writer.put("1", id: "app") == .done)
                #expect(try await reader.put("other", id: "app") == .changed)
                let stored = try #require(try await reader.document("app"))
                #expect(try await reader.put("2", id: "app", judged: stored.version) == .done)
                #expect(try await writer.document("app")?.record.text == "2")
                #expect(try await writer.documents() == ["2"])
                #expect(try await reader.documents() == ["2"])
                let key = DocumentKey(collection: TestDocument.collection, id: "app")
                #expect(try await writer.store.delete(key, on: loops.next()).get())
                #expect(try await reader.document("app") == nil)
                #expect(try await reader.documents().isEmpty)
            }
        }
    }

    @Test("A change of a document and the end of a record are told to every loop of every gateway")
    func told() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { other in
                let told = Mutex<[Invalidation: Int]>([:])
                let caches = SessionCaches()
                for loop in loops.makeIterator() {
                    try await loop.submit {
                        let cache = SessionCache()
                        cache.onInvalidation = { endings in
                            told.withLock { for one in endings.invalidations { $0[one, default: 0] += 1 } }
                        }
                        caches.register(cache, on: loop)
                    }.get()
                }
                let loopCount = loops.makeIterator().reduce(0) { count, _ in count + 1 }
                let client = try RedisClient(configuration: server.configuration(), group: loops)
                let store = RedisStore(client: client, ring: RedisStoreBench.ring, clock: .system, caches: caches)
                try await store.start()
                try await waitUntil { !caches.isDoubting }
                let bench = RedisStoreBench(other)
                let document = Invalidation.document(
                    store.names(of: DocumentKey(collection: TestDocument.collection, id: "app"))[0]
                )
                func expectTold(_ invalidation: Invalidation, _ step: () async throws -> Void) async throws {
                    told.withLock { $0[invalidation] = nil }
                    try await step()
                    try await waitUntil { told.withLock { $0[invalidation] ?? 0 >= loopCount } }
                }
                try await expectTold(document) {
                    let answer = try await bench.put("1", id: "app")
                    #expect(answer == .done)
                }
                try await expectTold(document) {
                    let judged = try await bench.document("app")?.version
                    let answer = try await bench.put("2", id: "app", judged: judged)
                    #expect(answer == .done)
                }
                try await expectTold(document) {
                    let key = DocumentKey(collection: TestDocument.collection, id: "app")
                    let wasThere = try await bench.store.delete(key, on: loops.next()).get()
                    #expect(wasThere)
                }
                let session = try await bench.signIn()
                let family = try await bench.newFamily(of: session)
                try await expectTold(.record(family)) {
                    try await bench.store.end(replaceable: family, on: loops.next()).get()
                }
                try await store.shutDown()
            }
        }
    }

    @Test("A replaceable record that was ended stays ended after a restart from an old snapshot")
    func oldSnapshot() async throws {
        try await RedisServer.with(["--dbfilename", "dump.rdb"]) { server in
            try await Listener.with(server.configuration()) { listener in
                let (ended, kept) = try await withClient(server.configuration()) { other in
                    let bench = RedisStoreBench(other)
                    let session = try await bench.signIn()
                    let ended = try await bench.newFamily(of: session)
                    let kept = try await bench.newFamily(of: session)
                    try server.command("SAVE")
                    try await bench.store.end(replaceable: ended, on: loops.next()).get()
                    // What is heard of is heard within milliseconds.
                    try await Task.sleep(for: .milliseconds(500))
                    return (ended, kept)
                }
                server.kill()
                try await server.start()
                try await waitUntil("it is used again") {
                    (try? await listener.store.replaceable(kept, as: TestFamily.self, on: loops.next()).get()) != nil
                }
                // Each loop has a connection of its own, which may not be back yet.
                try await waitUntil("the end is known") {
                    do {
                        let store = listener.store
                        #expect(try await store.replaceable(ended, as: TestFamily.self, on: loops.next()).get() == nil)
                        return true
                    } catch {
                        return false
                    }
                }
                // One that knows nothing of it.
                try await withClient(server.configuration()) { other in
                    let stranger = RedisStoreBench(other)
                    try await waitUntil("it has ended for all") { try await stranger.family(ended) == nil }
                    #expect(try await stranger.family(kept) != nil)
                }
            }
        }
    }
}
