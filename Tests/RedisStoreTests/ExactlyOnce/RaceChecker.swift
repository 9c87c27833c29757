import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreConformance
import Synchronization
import Testing
import Vocabulary

/// Lets many race for single-use records of any kind through several stores, and keeps what each attempt was told.
final class RaceChecker<Specimen: SingleUseSpecimen>: Sendable {
    private struct Entry {
        /// The sessions of attempts that were told that they used the record.
        var winners: Set<RecordKey> = []
        /// The sessions of all attempts.
        var runners: Set<RecordKey> = []
        /// Attempts that were never told for certain.
        var unresolved = 0
    }

    private let pair: StorePair
    private let entries = Mutex<[RecordKey: Entry]>([:])

    init(_ pair: StorePair) {
        self.pair = pair
    }

    var winners: [RecordKey: Set<RecordKey>] { self.entries.withLock { $0.mapValues(\.winners) } }
    var unresolved: Int { self.entries.withLock { $0.values.reduce(0) { $0 + $1.unresolved } } }

    /// A record that descends from `parent`.
    func mint(from parent: NewSession) async throws -> RecordKey {
        let bench = self.pair[0]
        let key = bench.authority.make(Specimen.token, in: parent.key.lineage).key
        let record = Specimen.made(from: parent, now: bench.clock.now(), life: .seconds(60))
        try await bench.store.create(record, key: key, on: loops.next()).get()
        return key
    }

    /// So many attempts at once, each repeated until it is answered, at most `tries` times.
    func race(for key: RecordKey, runners: Int, tries: Int = 100) async {
        await withTaskGroup(of: Void.self) { group in
            for runner in 0..<runners {
                let store = self.pair[runner]
                group.addTask { await self.run(for: key, through: store, tries: tries) }
            }
        }
    }

    private func run(for key: RecordKey, through bench: RedisStoreBench, tries: Int) async {
        let attempt = bench.authority.newAttempt()
        let draft = bench.draft(lineage: key.lineage)
        self.entries.withLock { _ = $0[key, default: Entry()].runners.insert(draft.key) }
        for _ in 0..<tries {
            if let isDone = try? await self.attempt(attempt, draft, at: key, through: bench) {
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
        through bench: RedisStoreBench
    ) async throws -> Bool {
        let marker = Marker.used(attempt, session: draft.key)
        switch try await bench.store.singleUse(key, as: Specimen.self, on: loops.next()).get() {
        case .absent: return false
        case .spent(let standing):
            guard standing == marker else { return false }
            try await bench.store.confirm(marker, of: key, on: loops.next()).get()
            return true
        case .live(let stored):
            let answer = try await bench.store.consume(
                key,
                judged: stored.version,
                marker: marker,
                creating: Specimen.offspring(with: draft, now: bench.clock.now()),
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
        let bench = self.pair[0]
        let blank = NewSession(key: session, session: bench.draft(lineage: session.lineage).session)
        var parts: [Bool] = []
        for new in Specimen.offspring(with: blank, now: bench.clock.now()) {
            let place = Keyspace.record(new.key)
            let reply = try await bench.untilAnswered("a look") {
                try await self.pair.clients[0].send(RedisCommand("EXISTS", [place]), on: loops.next()).get()
            }
            parts.append(reply == .integer(1))
        }
        return parts
    }
}

extension RaceChecker: OnceChecker {
    var accepted: Int { self.winners.values.count { !$0.isEmpty } }

    func prepare() {}

    func step(_ worker: Int) async {
        guard let parent = try? await self.pair[worker].signIn(), let key = try? await self.mint(from: parent) else {
            try? await Task.sleep(for: .milliseconds(20))
            return
        }
        await self.race(for: key, runners: 8, tries: 20)
    }

    func verify() async throws {
        for key in self.entries.withLock({ Array($0.keys) }) { await self.race(for: key, runners: 2) }
        #expect(self.winners.values.allSatisfy { $0.count <= 1 })
        try await self.expectWhole()
        self.entries.withLock { $0 = [:] }
    }
}
