import Sessions
import Testing
import Vocabulary

/// Several invalidations that arrive together.
@Suite struct EndingsTests {
    private let fixture = ResolverFixture()

    @Test("Each of several invalidations takes effect, and the streams' observer is called once")
    func several() throws {
        let holders = ["alice", "bob", "carol", "dave"].map { self.fixture.holder(subject: $0) }
        var entries: [CachedSession] = []
        for holder in holders {
            self.fixture.warm(holder)
            entries.append(try #require(self.fixture.resolve(holder.token).entry))
        }
        var told: [Endings] = []
        self.fixture.cache.onInvalidation = { told.append($0) }
        let ends: [Invalidation] = [
            .session(holders[0].key), .lineage(holders[1].key.lineage), .subject("carol"), .session(holders[0].key),
        ]
        self.fixture.cache.invalidate(Endings(ends))
        #expect(self.fixture.cache.counters.entries == 1)
        #expect(self.fixture.resolve(holders[3].token).outcome == .hit("dave"))
        #expect(told.map(\.invalidations) == [ends])
        #expect(entries.map { told[0].ends($0) } == [true, true, true, false])
    }

    @Test("Any of several invalidations makes the reads that it concerns stale, and no others", arguments: 0..<4)
    func reads(_ way: Int) {
        let holder = self.fixture.holder()
        let stranger = self.fixture.holder(subject: "bob")
        let others = (0..<3).map { self.fixture.holder(subject: "carol \($0)") }
        let (ended, lives) = (self.fixture.resolve(holder.token), self.fixture.resolve(stranger.token))
        let ends: [Invalidation] = [
            .session(holder.key), .lineage(holder.key.lineage), .subject("alice"), .subject("nobody"),
        ]
        self.fixture.cache.invalidate(Endings(others.map { .session($0.key) } + [ends[way], .subject("carol 1")]))
        self.fixture.answer(holder.session)
        self.fixture.answer(stranger.session)
        #expect(ended.outcome == (way == 3 ? .found("alice") : .waiting))
        #expect(lives.outcome == .found("bob"))
        if way < 3 { self.fixture.answer(nil) }
        #expect(ended.outcome == (way == 3 ? .found("alice") : .noSession))
    }

    @Test("A changed record is read again, also by a read under way, and ends no stream", arguments: [false, true])
    func changed(isAmongOthers: Bool) throws {
        let (holder, stranger) = (self.fixture.holder(), self.fixture.holder(subject: "bob"))
        self.fixture.warm(holder)
        let entry = try #require(self.fixture.resolve(holder.token).entry)
        var told: [Endings] = []
        self.fixture.cache.onInvalidation = { told.append($0) }
        let changes: [Invalidation] = [.sessionRecord(holder.key), .sessionRecord(stranger.key)]
        let waiting = self.fixture.resolve(stranger.token)
        if isAmongOthers {
            self.fixture.cache.invalidate(Endings(changes))
        } else {
            for change in changes { self.fixture.cache.invalidate(change) }
        }
        #expect(self.fixture.cache.counters.entries == 0)
        #expect(told.allSatisfy { !$0.ends(entry) })
        self.fixture.answer(stranger.session, version: 1)
        #expect(waiting.outcome == .waiting)
        self.fixture.answer(stranger.session, version: 2)
        #expect(waiting.entry?.version.value == 2)
        let again = self.fixture.resolve(holder.token)
        self.fixture.answer(holder.session, version: 2)
        #expect(again.entry !== entry && again.entry?.version.value == 2)
    }

    @Test("If `.all` is among them, every entry is forgotten and no stream ends")
    func all() throws {
        let (holder, stranger) = (self.fixture.holder(), self.fixture.holder(subject: "bob"))
        self.fixture.warm(holder)
        self.fixture.warm(stranger)
        let entry = try #require(self.fixture.resolve(holder.token).entry)
        let endings = Endings([.session(stranger.key), .all])
        self.fixture.cache.invalidate(endings)
        #expect(self.fixture.cache.counters.entries == 0)
        #expect(!endings.ends(entry))
    }
}
