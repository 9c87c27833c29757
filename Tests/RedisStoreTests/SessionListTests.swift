import Cryptography
import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// The lists of users' sessions, which are written after the fact.
@Suite struct SessionListTests {
    private func withStore(_ body: @Sendable (RedisClient, RedisStoreBench) async throws -> Void) async throws {
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { try await body($0, RedisStoreBench($0)) }
        }
    }

    @Test("Sessions are noted after the fact, of every kind but access tokens, and also once they have ended")
    func noted() async throws {
        try await self.withStore { _, bench in
            let first = try await bench.signIn()
            #expect(try await bench.lists([first.key]))
            var token = bench.draft()
            token = NewSession(key: token.key, session: token.session.asAccessToken)
            try await bench.store.create(token, on: loops.next()).get()
            _ = try await bench.signIn(subject: "grace")
            let second = bench.draft(lineage: first.session.lineage)
            let transfer = try await bench.mint(from: first)
            let consumed = try await bench.consume(
                transfer,
                creating: second,
                attempt: bench.authority.newAttempt()
            )
            #expect(consumed == .done)
            #expect(try await bench.lists([first.key, second.key]))
            _ = try await bench.store.end(first.key, on: loops.next()).get()
            #expect(try await bench.session(first.key) == nil)
            #expect(try await bench.lists([first.key, second.key]))
        }
    }

    @Test("A hundred sign-ins at once are all noted")
    func race() async throws {
        try await self.withStore { _, bench in
            let drafts = (0..<100).map { _ in bench.draft() }
            try await withThrowingTaskGroup { group in
                for draft in drafts {
                    group.addTask { try await bench.store.create(draft, on: loops.next()).get() }
                }
                try await group.waitForAll()
            }
            #expect(try await bench.lists(Set(drafts.map(\.key))))
        }
    }

    @Test("After a new secret the earlier sessions are found as well")
    func rotation() async throws {
        try await self.withStore { client, _ in
            let (old, new) = (Secret("the old secret"), Secret("the new secret"))
            let former = RedisStoreBench(client, ring: SealingKeyRing(current: old))
            let first = try await former.signIn()
            #expect(try await former.lists([first.key]))
            let bench = RedisStoreBench(client, ring: SealingKeyRing(current: new, accepted: [old]))
            let second = try await bench.signIn()
            #expect(try await bench.lists([first.key, second.key]))
        }
    }

    @Test("What has expired leaves a list, which lives as long as its longest session and does not grow without end")
    func expiry() async throws {
        try await self.withStore { client, _ in
            let clock = MovableClock()
            let bench = RedisStoreBench(client, clock: clock.clock)
            let loop = loops.next()
            let long = bench.draft(life: .seconds(86_400))
            try await bench.store.create(long, on: loop).get()
            let few = (0..<3).map { _ in bench.draft(life: .seconds(60)) }
            for draft in few { try await bench.store.create(draft, on: loop).get() }
            #expect(try await bench.lists(Set([long.key] + few.map(\.key))))
            #expect(try await client.life(of: bench.list).map { (86_000_000...86_405_000).contains($0) } == true)
            clock.advance(by: .seconds(61))
            #expect(try await bench.lists([long.key]))
            // More than a list has room for, one after the other.
            let line = try #require(try await client.length(of: bench.list)) / 4
            for _ in 0..<(3 * RedisStore.listCapacity) {
                try await bench.store.create(bench.draft(life: .milliseconds(1)), on: loop).get()
                clock.advance(by: .milliseconds(1))
            }
            let length = try #require(try await client.length(of: bench.list))
            #expect(length <= line * RedisStore.listCapacity * 5 / 4)
            #expect(try await bench.lists([long.key]))
            #expect(try await client.life(of: bench.list).map { $0 > 80_000_000 } == true)
        }
    }

    @Test("Of a user with very many sessions the list has the latest")
    func capacity() async throws {
        try await self.withStore { _, bench in
            let loop = loops.next()
            let capacity = RedisStore.listCapacity
            var drafts: [NewSession] = []
            for count in [20, capacity, capacity + 20, capacity * 3 / 2] {
                while drafts.count < count {
                    drafts.append(bench.draft())
                    try await bench.store.create(drafts[drafts.count - 1], on: loop).get()
                }
                #expect(try await bench.lists(Set(drafts.suffix(capacity).map(\.key))))
            }
        }
    }

    @Test("The pages have the latest sessions first and each once, whatever begins while they are read")
    func pages() async throws {
        try await self.withStore { _, bench in
            let loop = loops.next()
            let size = RedisStore.pageSize
            var all: [RecordKey] = []
            func begin(_ count: Int) async throws {
                for _ in 0..<count {
                    let draft = bench.draft()
                    try await bench.store.create(draft, on: loop).get()
                    all.insert(draft.key, at: 0)
                }
            }
            func page(_ place: IndexPlace?) async throws -> SessionPage {
                try await bench.store.sessions(from: place, on: loops.next()).get()
            }
            try await begin(2 * size + 50)
            // Notes are written in the background, in the order of the sessions of one loop.
            var first = SessionPage()
            try await waitUntil("the newest session is noted") {
                first = try await page(nil)
                first.keys.reverse()
                return first.keys.first == all[0]
            }
            let wanted = all
            var (found, place) = (first.keys, first.next)
            #expect(found.first == wanted[0] && found.count <= size)
            while let next = place {
                try await begin(size / 2)
                let page = try await page(next)
                found += page.keys.reversed()
                place = page.next
            }
            #expect(found == wanted)
        }
    }

    @Test("The lists of earlier gateways are read until their sessions expire")
    func formerLists() async throws {
        try await self.withStore { client, bench in
            let now = bench.clock.now()
            let (live, expired) = (bench.draft(), bench.draft())
            let place = bench.authority.namedKeys("subject sessions", "alice", FormerList.kind)[0]
            let list = FormerList(
                since: now,
                entries: [(live.key, now.advanced(by: .seconds(60))), (expired.key, now.advanced(by: .seconds(-1)))]
            )
            let attempt = bench.authority.newAttempt()
            let written = bench.store.replace(place, judged: nil, with: list, attempt: attempt, on: loops.next())
            #expect(try await written.get() == .done)
            let new = try await bench.signIn()
            #expect(try await bench.lists([live.key, new.key]))
        }
    }

    @Test(
        "A list that cannot be read is unavailable, never empty",
        arguments: ["9999999999999 x\n", "x AAAA\n", "9\n", "9999999999999 AAAA\n"]
    )
    func damaged(_ line: String) async throws {
        try await self.withStore { client, bench in
            let first = try await bench.signIn()
            #expect(try await bench.lists([first.key]))
            let command = RedisCommand("SET", [bench.list, Array(line.utf8)])
            _ = try await client.send(command, on: loops.next()).get()
            await #expect(throws: StoreError.unavailable) {
                try await bench.store.sessions(of: "alice", on: loops.next()).get()
            }
        }
    }

    @Test("A note that Redis refuses keeps nobody from signing in")
    func refused() async throws {
        try await self.withStore { client, bench in
            // A value of another type.
            let call = ScriptCall(
                RedisScript("return redis.call('RPUSH', KEYS[1], 'x')"),
                keys: [bench.list],
                arguments: []
            )
            _ = try await client.evaluate(call, on: loops.next()).get()
            let session = try await bench.signIn()
            #expect(try await bench.session(session.key) != nil)
            await #expect(throws: StoreError.unavailable) {
                try await bench.store.sessions(of: "alice", on: loops.next()).get()
            }
        }
    }

    /// The bytes of a list of sessions as earlier gateways wrote it.
    private struct FormerList: ReplaceableRecord {
        static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "u")) }
        static var longestLife: Duration { .seconds(400 * 86_400) }
        static var isConfirmed: Bool { false }
        static var isBoundToReign: Bool { false }
        let since: UnixTime
        let entries: [(key: RecordKey, end: UnixTime)]
        var terms: RecordTerms { RecordTerms(since: self.since, expiresAt: self.entries[0].end) }

        func write(to writer: inout CompactWriter) {
            writer.write(self.since)
            writer.write(list: self.entries) { writer, entry in
                writer.write(entry.key)
                writer.write(entry.end)
            }
        }

        static func read(from reader: inout CompactReader) throws(CompactFormatError) -> FormerList {
            throw CompactFormatError()
        }
    }
}

extension RedisStoreBench {
    /// Where Alice's sessions are noted.
    fileprivate var list: [UInt8] { Array("sp:u:{\(self.store.names(of: "alice")[0])}".utf8) }

    /// True once exactly these sessions of Alice are noted. Notes are written in the background.
    func lists(_ keys: Set<RecordKey>) async throws -> Bool {
        try await waitUntil("the sessions are noted") {
            Set(try await self.store.sessions(of: "alice", on: loops.next()).get()) == keys
        }
        return true
    }
}

extension Session {
    fileprivate var asAccessToken: Session {
        var session = self
        session.access = AccessTerms(audience: nil)
        return session
    }
}

extension RedisClient {
    fileprivate func life(of key: [UInt8]) async throws -> Int64? {
        guard case .integer(let life) = try await self.send(RedisCommand("PTTL", [key]), on: loops.next()).get() else {
            return nil
        }
        return life
    }

    fileprivate func length(of key: [UInt8]) async throws -> Int? {
        guard case .bulk(let bytes) = try await self.send(RedisCommand("GET", [key]), on: loops.next()).get() else {
            return nil
        }
        return bytes.count
    }
}
