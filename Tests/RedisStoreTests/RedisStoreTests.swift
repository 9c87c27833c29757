import Cryptography
import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreBench
import StoreConformance
import TestSupport
import Testing
import Vocabulary

@Suite struct RedisStoreTests {
    @Test("The Redis store conforms", arguments: StoreConformance.cases)
    func conforms(_ behaviour: StoreConformance) async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = ConformanceBench(group: loops, pass: { try await client.age(by: $0) }) { _, clock in
                    _ = try await client.ask("FLUSHALL")
                    return RedisStore(
                        client: client,
                        ring: RedisStoreBench.ring,
                        clock: clock.clock,
                        caches: SessionCaches()
                    )
                }
                try await behaviour.run(bench)
            }
        }
    }

    @Test("No token, identity or attempt can be read in Redis")
    func nothingReadable() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let lineage = bench.authority.newLineage()
                let (token, key) = bench.authority.make(.session, in: lineage)
                let parent = NewSession(
                    key: key,
                    session: RedisStoreBench.session(subject: "alice", lineage: lineage, now: bench.clock.now())
                )
                try await bench.store.create(parent, on: loops.next()).get()
                let used = try await bench.mint(from: parent)
                _ = try await bench.mint(from: parent)
                let attempt = bench.authority.newAttempt()
                let draft = bench.draft(lineage: lineage)
                #expect(try await bench.consume(used, creating: draft, attempt: attempt) == .done)
                try await bench.store.end(subject: "bob@secret", on: loops.next()).get()

                #expect(try await bench.lists([parent.key, draft.key]))

                // Two sessions with their idle keys, a token, a marker, the names of the parents of two tokens, the ledger, an
                // epoch, Alice's list, that of her address, the log of the hour and the list of hours; the last are written
                // after the fact.
                try await waitUntil("all that is noted") { try await client.dump().count >= 14 }
                let dump = try await client.dump()
                #expect(dump.count == 14)
                // The token's random part, without the tag, which is not secret.
                let random = Array(token.bytes.suffix(43))
                let secrets = [
                    random, Array("alice".utf8), Array("bob@".utf8), Array("example.org".utf8), Array("Mozilla".utf8),
                    Array("ses_alice".utf8), Array(attempt.value.utf8),
                ]
                for (key, value) in dump {
                    for secret in secrets {
                        #expect(!key.contains(secret) && !value.contains(secret))
                    }
                }
            }
        }
    }

    @Test("Every key expires, a little after its record")
    func lives() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn()
                let token = try await bench.mint(from: parent)
                let used = try await bench.mint(from: parent)
                let draft = bench.draft(lineage: parent.key.lineage)
                _ = try await bench.consume(used, creating: draft, attempt: bench.authority.newAttempt())
                try await bench.store.end(subject: "bob", on: loops.next()).get()
                func life(_ key: [UInt8]) async throws -> Int64 {
                    guard
                        case .integer(let life) = try await client.send(RedisCommand("PTTL", [key]), on: loops.next())
                            .get()
                    else { return -3 }
                    return life
                }
                for key in try await client.dump().keys { #expect(try await life(key) > 0) }
                #expect((30_000...65_000).contains(try await life(Keyspace.record(token))))
                #expect(try await life(Keyspace.lineage(parent.key.lineage)) > life(Keyspace.record(parent.key)))
                #expect(try await life(Keyspace.marker(used)) > 3_000_000)
            }
        }
    }

    @Test("A record that cannot be unsealed is unavailable, never absent")
    func unsealable() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let one = try await bench.signIn()
                let two = try await bench.signIn()
                let token = try await bench.mint(from: one)
                let place = Keyspace.record(one.key)
                let genuine = try #require(try await client.dump()[place])
                let other = try #require(try await client.dump()[Keyspace.record(two.key)])
                var newer = genuine
                newer[0] = 2
                var altered = genuine
                altered[altered.count - 1] ^= 1
                // A newer format, one changed bit, another record's bytes, no bytes.
                for bytes in [newer, altered, other, Array(genuine.prefix(10)), []] {
                    _ = try await client.send(RedisCommand("SET", [place, bytes]), on: loops.next()).get()
                    await #expect(throws: StoreError.unavailable) { try await bench.session(one.key) }
                    await #expect(throws: StoreError.unavailable) {
                        try await bench.store.end(one.key, on: loops.next()).get()
                    }
                    let idle = RedisCommand("SET", [Keyspace.idle(one.key), Array("99999999999999 1000".utf8)])
                    _ = try await client.send(idle, on: loops.next()).get()
                }
                _ = try await client.send(RedisCommand("SET", [place, genuine]), on: loops.next()).get()
                // For a gateway that has not ended it.
                #expect(try await RedisStoreBench(client).session(one.key) == one.session)
                let stranger = RedisStoreBench(client, ring: SealingKeyRing(current: Secret("another secret")))
                await #expect(throws: StoreError.unavailable) { try await stranger.session(two.key) }
                await #expect(throws: StoreError.unavailable) { try await stranger.transfer(token) }
                // A record of a type that this key cannot have.
                _ = try await client.ask("SET", "sp:g:{\(two.key.lineage.tag)}", "?")
                await #expect(throws: StoreError.unavailable) { try await bench.session(two.key) }
            }
        }
    }

    @Test("A lineage without its ledger has ended")
    func lostLedger() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn()
                let token = try await bench.mint(from: parent)
                _ = try await client.send(
                    RedisCommand("DEL", [Keyspace.lineage(parent.key.lineage)]),
                    on: loops.next()
                ).get()
                #expect(try await bench.session(parent.key) == nil)
                guard case .absent = try await bench.transfer(token) else {
                    Issue.record("the token is not absent")
                    return
                }
            }
        }
    }

    @Test("During a rotation gateways of both steps read, end and consume each other's records")
    func rotation() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let (old, new) = (Secret("the old secret"), Secret("the new secret"))
                // First all accept the new secret, then they use it.
                let before = RedisStoreBench(client, ring: SealingKeyRing(current: old, accepted: [new]))
                let after = RedisStoreBench(client, ring: SealingKeyRing(current: new, accepted: [old]))
                for (writer, reader) in [(before, after), (after, before)] {
                    let session = try await writer.signIn()
                    let second = try await reader.signIn()
                    #expect(try await reader.session(session.key)?.id == session.session.id)
                    try await writer.store.end(subject: "alice", on: loops.next()).get()
                    #expect(try await reader.session(session.key) == nil)
                    #expect(try await writer.session(second.key) == nil)
                    #expect(try await reader.session(try await writer.signIn().key) != nil)
                }
                // A gateway without the new secret still sees the ending.
                let ancient = RedisStoreBench(client, ring: SealingKeyRing(current: old))
                let session = try await ancient.signIn(subject: "bob")
                try await after.store.end(subject: "bob", on: loops.next()).get()
                #expect(try await ancient.session(session.key) == nil)
            }
        }
    }

    @Test("After all sessions of a user ended at another gateway, no token makes a session that lives")
    func endElsewhere() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                // Each has its own memory, and is not told of what the other does.
                let other = RedisStoreBench(client)
                let parent = try await bench.signIn()
                let token = try await bench.mint(from: parent)
                let found = try await bench.store.singleUse(token, as: TransferToken.self, on: loops.next()).get()
                guard case .live(let stored) = found else { return #expect(Bool(false), "\(found)") }
                try await other.store.end(subject: "alice", on: loops.next()).get()
                let draft = bench.draft(lineage: parent.key.lineage)
                let answer = try await bench.store.consume(
                    token,
                    judged: stored.version,
                    marker: .used(bench.authority.newAttempt(), session: draft.key),
                    creating: draft,
                    on: loops.next()
                ).get()
                #expect(answer == .done || answer == .changed)
                for bench in [bench, other] {
                    #expect(try await bench.store.session(draft.key, on: loops.next()).get() == nil)
                    #expect(try await bench.store.session(parent.key, on: loops.next()).get() == nil)
                }
            }
        }
    }

    @Test("Scripts that Redis has lost are sent again")
    func forgottenScripts() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                for _ in 0..<3 {
                    let parent = try await bench.signIn()
                    let token = try await bench.mint(from: parent)
                    _ = try await client.ask("SCRIPT", "FLUSH")
                    let draft = bench.draft(lineage: parent.key.lineage)
                    let answer = try await bench.consume(
                        token,
                        creating: draft,
                        attempt: bench.authority.newAttempt()
                    )
                    #expect(answer == .done)
                }
            }
        }
    }

    @Test("F20: When memory is full, nothing is done in part, and existing sessions work")
    func outOfMemory() async throws {
        try await RedisServer.with(["--maxmemory-policy", "noeviction"]) { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn()
                let token = try await bench.mint(from: parent)
                let draft = bench.draft(lineage: parent.key.lineage)
                let attempt = bench.authority.newAttempt()
                _ = try await client.ask("CONFIG", "SET", "maxmemory", "1")
                await #expect(throws: StoreError.unavailable) {
                    try await bench.consume(token, creating: draft, attempt: attempt)
                }
                await #expect(throws: StoreError.unavailable) { try await bench.signIn() }
                #expect(try await bench.session(parent.key) != nil)
                _ = try await client.ask("CONFIG", "SET", "maxmemory", "0")
                #expect(try await bench.consume(token, creating: draft, attempt: attempt) == .done)
            }
        }
    }

    @Test("When memory is full, every session can be ended")
    func signOutWithoutMemory() async throws {
        try await RedisServer.with(["--maxmemory-policy", "noeviction"]) { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                var people: [NewSession] = []
                for subject in ["ada", "grace", "mary"] { people.append(try await bench.signIn(subject: subject)) }
                _ = try await client.ask("CONFIG", "SET", "maxmemory", "1")
                #expect(try await bench.store.end(people[0].key, on: loops.next()).get())
                try await bench.store.end(people[1].key.lineage, on: loops.next()).get()
                try await bench.store.end(subject: "mary", on: loops.next()).get()
                for person in people { #expect(try await bench.session(person.key) == nil) }
            }
        }
    }

    @Test("A record of another type than ours is unavailable, not unknown", arguments: 0..<3)
    func otherType(part: Int) async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let holder = try await bench.signIn()
                let parts = [
                    Keyspace.record(holder.key), Keyspace.lineage(holder.key.lineage), Keyspace.idle(holder.key),
                ]
                let key = String(decoding: parts[part], as: UTF8.self)
                _ = try await client.ask("DEL", key)
                #expect(try await bench.session(holder.key) == nil)
                _ = try await client.ask("RPUSH", key, "x")
                await #expect(throws: StoreError.unavailable) { try await bench.session(holder.key) }
            }
        }
    }

    @Test("A transfer token of another type than ours is unavailable, not unknown")
    func otherTypeOfToken() async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let bench = RedisStoreBench(client)
                let token = try await bench.mint(from: try await bench.signIn())
                let key = String(decoding: Keyspace.record(token), as: UTF8.self)
                _ = try await client.ask("DEL", key)
                guard case .absent = try await bench.transfer(token) else {
                    Issue.record("it is gone")
                    return
                }
                _ = try await client.ask("RPUSH", key, "x")
                await #expect(throws: StoreError.unavailable) { try await bench.transfer(token) }
            }
        }
    }
}
