import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// A store may report a subject's end under its own names for the subject; there are several while a former secret is
/// accepted.
@Suite struct SubjectNameTests {
    private let fixture = ResolverFixture(aliases: ["new ", "old "])

    @Test("A session is ended under each name of its subject", arguments: ["new alice", "old alice"])
    func eitherName(_ name: String) throws {
        let (alice, bob) = (self.fixture.holder(subject: "alice"), self.fixture.holder(subject: "bob"))
        for holder in [alice, bob] { self.fixture.warm(holder) }
        let entry = try #require(self.fixture.resolve(alice.token).entry)
        #expect(Invalidation.subject(name).ends(entry))
        self.fixture.cache.invalidate(.subject(name))
        #expect(self.fixture.resolve(alice.token).outcome == .waiting)
        #expect(self.fixture.resolve(bob.token).outcome == .hit("bob"))
        #expect(self.fixture.cache.counters.entries == 1)
    }

    @Test("The subject itself does not count as a name if the store has others")
    func plainSubject() throws {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.cache.invalidate(.subject("alice"))
        let entry = try #require(self.fixture.resolve(holder.token).entry)
        #expect(!Invalidation.subject("alice").ends(entry))
    }

    @Test("A read from before an end under either name is repeated", arguments: ["new alice", "old alice"])
    func replyRace(_ name: String) {
        let holder = self.fixture.holder()
        let pending = self.fixture.resolve(holder.token)
        self.fixture.cache.invalidate(.subject("old bob"))
        self.fixture.cache.invalidate(.subject(name))
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .waiting)
        self.fixture.answer(nil)
        #expect(pending.outcome == .noSession)
    }

    @Test("Names are made for a new entry, and not for a hit or for a read that confirms the entry")
    func madeOnce() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        #expect(self.fixture.store.namings == 1)
        for _ in 0..<20 {
            self.fixture.clock.advance(by: .seconds(1))
            _ = self.fixture.resolve(holder.token)
            self.fixture.answer(holder.session)
        }
        #expect(self.fixture.store.namings == 1)
    }

    @Test("A session that was ended or evicted leaves no name behind")
    func forgotten() {
        let fixture = ResolverFixture(capacity: 4, aliases: ["new ", "old "])
        let holders = (0..<12).map { fixture.holder(subject: "user \($0)") }
        for holder in holders { fixture.warm(holder) }
        let kept = holders.filter { holder in
            holder.token.bytes.withUnsafeBytes { fixture.cache.entry(for: $0) != nil }
        }
        #expect(kept.count == 4)
        // The places of the evicted sessions belong to others now; the old names must not end those.
        for evicted in holders where !kept.contains(where: { $0.key == evicted.key }) {
            fixture.cache.invalidate(.subject("new \(evicted.session.subject)"))
            fixture.cache.invalidate(.subject("old \(evicted.session.subject)"))
        }
        #expect(fixture.cache.counters.entries == 4)
        fixture.cache.invalidate(.subject("old \(kept[0].session.subject)"))
        fixture.cache.invalidate(.subject("new \(kept[0].session.subject)"))
        #expect(fixture.cache.counters.entries == 3)
    }
}
