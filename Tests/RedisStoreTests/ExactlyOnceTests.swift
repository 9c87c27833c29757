import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreConformance
import Synchronization
import Testing
import Vocabulary

/// Lets many race for single-use records of any kind through several stores, and keeps what each attempt was told.
private final class RaceChecker<Specimen: SingleUseSpecimen>: Sendable {
    private struct Entry {
        /// The sessions of attempts that were told that they used the record.
        var winners: Set<RecordKey> = []
        /// The sessions of all attempts.
        var runners: Set<RecordKey> = []
        /// Attempts that were never told for certain.
        var unresolved = 0
    }

    private let client: RedisClient
    private let stores: [StoreFixture]
    private let entries = Mutex<[RecordKey: Entry]>([:])

    init(_ first: RedisClient, _ second: RedisClient) {
        self.client = first
        self.stores = [StoreFixture(first), StoreFixture(second)]
    }

    var keys: [RecordKey] { self.entries.withLock { Array($0.keys) } }
    var winners: [RecordKey: Set<RecordKey>] { self.entries.withLock { $0.mapValues(\.winners) } }
    var unresolved: Int { self.entries.withLock { $0.values.reduce(0) { $0 + $1.unresolved } } }

    /// A record that descends from `parent`.
    func mint(from parent: NewSession) async throws -> RecordKey {
        let fixture = self.stores[0]
        let key = fixture.authority.make(Specimen.token, in: parent.key.lineage).key
        let record = Specimen.made(from: parent, now: fixture.clock.now(), life: .seconds(60))
        try await fixture.store.create(record, key: key, on: loops.next()).get()
        return key
    }

    /// So many attempts at once, each repeated until it is answered, at most `tries` times.
    func race(for key: RecordKey, runners: Int, tries: Int = 100) async {
        await withTaskGroup(of: Void.self) { group in
            for runner in 0..<runners {
                let store = self.stores[runner % self.stores.count]
                group.addTask { await self.run(for: key, through: store, tries: tries) }
            }
        }
    }

    private func run(for key: RecordKey, through fixture: StoreFixture, tries: Int) async {
        let attempt = fixture.authority.newAttempt()
        let draft = fixture.draft(lineage: key.lineage)
        self.entries.withLock { _ = $0[key, default: Entry()].runners.insert(draft.key) }
        for _ in 0..<tries {
            if let isDone = try? await self.attempt(attempt, draft, at: key, through: fixture) {
                if isDone { self.entries.withLock { _ = $0[key]?.winners.insert(draft.key) } }
                return
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        self.entries.withLock { $0[key]?.unresolved += 1 }
    }

    /// Whether this attempt has used the record, now or before; throws where the store cannot say.
    private func attempt(
        _ attempt: AttemptID,
        _ draft: NewSession,
        at key: RecordKey,
        through fixture: StoreFixture
    ) async throws -> Bool {
        let marker = Marker.used(attempt, session: draft.key)
        switch try await fixture.store.singleUse(key, as: Specimen.self, on: loops.next()).get() {
        case .absent: return false
        case .spent(let standing):
            guard standing == marker else { return false }
            try await fixture.store.confirm(marker, of: key, on: loops.next()).get()
            return true
        case .live(let stored):
            let answer = try await fixture.store.consume(
                key,
                judged: stored.version,
                marker: marker,
                creating: Specimen.offspring(with: draft, now: fixture.clock.now()),
                on: loops.next()
            ).get()
            return answer == .done
        }
    }

    /// Looks at everything that may have been made: whatever one attempt made is there whole or not at all, and of the
    /// attempts for one record at most one made anything.
    func expectWhole() async throws {
        for (key, entry) in self.entries.withLock({ $0 }) {
            var makers = 0
            for runner in entry.runners {
                let parts = try await self.parts(beside: runner)
                #expect(Set(parts).count <= 1, "half of what an attempt makes")
                if parts.contains(true) { makers += 1 }
                if entry.winners.contains(runner) { #expect(!parts.contains(false), "a winner without its records") }
            }
            #expect(makers <= 1, "\(makers) attempts used \(key)")
        }
    }

    /// For each record that an attempt with this session makes, whether it is there.
    private func parts(beside session: RecordKey) async throws -> [Bool] {
        let fixture = self.stores[0]
        let blank = NewSession(key: session, session: fixture.draft(lineage: session.lineage).session)
        var parts: [Bool] = []
        for new in Specimen.offspring(with: blank, now: fixture.clock.now()) {
            let place = Keyspace.record(new.key)
            let reply = try await fixture.untilAnswered("a look") {
                try await self.client.send(RedisCommand("EXISTS", [place]), on: loops.next()).get()
            }
            parts.append(reply == .integer(1))
        }
        return parts
    }
}

/// Of all who present a single-use record of any kind, exactly one uses it, and gets all that a use makes.
@Suite(.serialized) struct ExactlyOnceTests {
    private static let specimens: [any SingleUseSpecimen.Type] = [TransferToken.self, TestTicket.self]

    /// 64 race for each of so many records; then Redis holds what was handed out and nothing else.
    private func race<Specimen: SingleUseSpecimen>(
        _ kind: Specimen.Type,
        _ configuration: RedisConfiguration,
        on primaries: [RedisServer],
        records: Int
    ) async throws {
        for primary in primaries { try primary.command("FLUSHALL") }
        try await withClient(configuration) { first in
            try await withClient(configuration) { second in
                try await first.waitUntilConnected()
                try await second.waitUntilConnected()
                let stores = [StoreFixture(first), StoreFixture(second)]
                let checker = RaceChecker<Specimen>(first, second)
                for _ in 0..<records {
                    let parent = try await stores[0].signIn()
                    await checker.race(for: try await checker.mint(from: parent), runners: 64)
                }
                #expect(checker.unresolved == 0)
                #expect(checker.winners.values.allSatisfy { $0.count == 1 })
                let keys = try primaries.flatMap { try $0.keys("sp:*") }
                func count(_ letter: String) -> Int { keys.count { $0.hasPrefix("sp:\(letter):") } }
                #expect(count("m") == records)
                #expect(count("s") == 2 * records)
                #expect(count("t") == 0)
                let others = Specimen.kind == TestTicket.kind ? records : 0
                #expect(count("x") == others)
                #expect(count("y") == others)
                for (_, winners) in checker.winners {
                    for session in winners { #expect(try await stores[1].session(session) != nil) }
                }
            }
        }
    }

    @Test("One of 64 at two stores uses each record: one Redis", arguments: 0..<Self.specimens.count)
    func standalone(specimen: Int) async throws {
        try await RedisServer.with { server in
            try await self.race(Self.specimens[specimen], server.configuration(), on: [server], records: 100)
        }
    }

    @Test("One of 64 at two stores uses each record: Sentinel, with replicas that confirm")
    func sentinel() async throws {
        try await RedisSentinelGroup.with(downAfter: 10_000) { group in
            for kind in Self.specimens {
                try await self.race(kind, group.configuration(), on: [try group.primary()], records: 50)
            }
        }
    }

    @Test("One of 64 at two stores uses each record: Cluster")
    func cluster() async throws {
        try await RedisCluster.with { cluster in
            for kind in Self.specimens {
                try await self.race(kind, cluster.configuration(), on: cluster.primaries, records: 50)
            }
        }
    }

    @Test("While a primary is killed and another takes its place, no record is used twice and none half")
    func failover() async throws {
        try await RedisSentinelGroup.with { group in
            try await withClient(group.configuration(commandTimeout: .milliseconds(500))) { first in
                try await withClient(group.configuration(commandTimeout: .milliseconds(500))) { second in
                    try await first.waitUntilConnected()
                    try await second.waitUntilConnected()
                    let checker = RaceChecker<TestTicket>(first, second)
                    let fixture = StoreFixture(first)
                    let parent = try await fixture.untilAnswered("a sign-in") { try await fixture.signIn() }
                    let isStopped = Mutex(false)
                    let traffic = Task {
                        while !isStopped.withLock({ $0 }) {
                            guard let key = try? await checker.mint(from: parent) else {
                                try? await Task.sleep(for: .milliseconds(20))
                                continue
                            }
                            await checker.race(for: key, runners: 8, tries: 20)
                        }
                    }
                    try await waitUntil("uses before the failover") {
                        checker.winners.values.count { $0.count == 1 } > 20
                    }
                    let old = try group.killPrimary()
                    _ = try await group.waitForPrimary(otherThan: old)
                    let before = checker.keys.count
                    try await waitUntil("uses after it", within: .seconds(40)) { checker.keys.count > before + 20 }
                    isStopped.withLock { $0 = true }
                    await traffic.value
                    // Everybody tries each once more.
                    for key in checker.keys { await checker.race(for: key, runners: 2) }
                    #expect(checker.winners.values.allSatisfy { $0.count <= 1 })
                    try await checker.expectWhole()
                }
            }
        }
    }
}
