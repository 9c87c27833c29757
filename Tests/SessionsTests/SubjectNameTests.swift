import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// A store may report a subject's end under its own names for the subject; there are several while a former secret is
/// accepted.
@Suite struct SubjectNameTests {
    private let bench = ResolverBench(aliases: ["new ", "old "])

    @Test("A session is ended under each name of its subject", arguments: ["new alice", "old alice"])
    func eitherName(_ name: String) throws {
        let (alice, bob) = (self.bench.holder(subject: "alice"), self.bench.holder(subject: "bob"))
        for holder in [alice, bob] { self.bench.warm(holder) }
        let entry = try #require(self.bench.resolve(alice.token).entry)
        #expect(Invalidation.subject(name).ends(entry))
        self.bench.cache.invalidate(.subject(name))
        #expect(self.bench.resolve(alice.token).outcome == .waiting)
        #expect(self.bench.resolve(bob.token).outcome == .hit("bob"))
        #expect(self.bench.cache.counters.entries == 1)
    }

    @Test("The subject itself does not count as a name if the store has others")
    func plainSubject() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.cache.invalidate(.subject("alice"))
        let entry = try #require(self.bench.resolve(holder.token).entry)
        #expect(!Invalidation.subject("alice").ends(entry))
    }

    @Test("A read from before an end under either name is repeated", arguments: ["new alice", "old alice"])
    func replyRace(_ name: String) {
        let holder = self.bench.holder()
        let pending = self.bench.resolve(holder.token)
        self.bench.cache.invalidate(.subject("old bob"))
        self.bench.cache.invalidate(.subject(name))
        self.bench.answer(holder.session)
        #expect(pending.outcome == .waiting)
        self.bench.answer(nil)
        #expect(pending.outcome == .noSession)
    }

    @Test("Names are made for a new entry, and not for a hit or for a read that confirms the entry")
    func madeOnce() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        #expect(self.bench.store.namings == 1)
        for _ in 0..<20 {
            self.bench.clock.advance(by: .seconds(1))
            _ = self.bench.resolve(holder.token)
            self.bench.answer(holder.session)
        }
        #expect(self.bench.store.namings == 1)
    }

    @Test("A session that was ended or evicted leaves no name behind")
    func forgotten() {
        let bench = ResolverBench(capacity: 4, aliases: ["new ", "old "])
        let holders = (0..<12).map { bench.holder(subject: "user \($0)") }
        for holder in holders { bench.warm(holder) }
        let kept = holders.filter { holder in
            holder.token.bytes.withUnsafeBytes { bench.cache.entry(for: $0) != nil }
        }
        #expect(kept.count == 4)
        // The places of the evicted sessions belong to others now; the old names must not end those.
        for evicted in holders where !kept.contains(where: { $0.key == evicted.key }) {
            bench.cache.invalidate(.subject("new \(evicted.session.subject)"))
            bench.cache.invalidate(.subject("old \(evicted.session.subject)"))
        }
        #expect(bench.cache.counters.entries == 4)
        bench.cache.invalidate(.subject("old \(kept[0].session.subject)"))
        bench.cache.invalidate(.subject("new \(kept[0].session.subject)"))
        #expect(bench.cache.counters.entries == 3)
    }
}
