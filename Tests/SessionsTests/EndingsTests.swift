import Sessions
import Testing
import Vocabulary

/// Several invalidations that arrive together.
@Suite struct EndingsTests {
    private let bench = ResolverBench()

    @Test("Each of several invalidations takes effect, and the streams' observer is called once")
    func several() throws {
        let holders = ["alice", "bob", "carol", "dave"].map { self.bench.holder(subject: $0) }
        var entries: [CachedSession] = []
        for holder in holders {
            self.bench.warm(holder)
            entries.append(try #require(self.bench.resolve(holder.token).entry))
        }
        var told: [Endings] = []
        self.bench.cache.onInvalidation = { told.append($0) }
        let ends: [Invalidation] = [
            .session(holders[0].key), .lineage(holders[1].key.lineage), .subject("carol"), .session(holders[0].key),
        ]
        self.bench.cache.invalidate(Endings(ends))
        #expect(self.bench.cache.counters.entries == 1)
        #expect(self.bench.resolve(holders[3].token).outcome == .hit("dave"))
        #expect(told.map(\.invalidations) == [ends])
        #expect(entries.map { told[0].ends($0) } == [true, true, true, false])
    }

    @Test("Any of several invalidations makes the reads that it concerns stale, and no others", arguments: 0..<4)
    func reads(_ way: Int) {
        let holder = self.bench.holder()
        let stranger = self.bench.holder(subject: "bob")
        let others = (0..<3).map { self.bench.holder(subject: "carol \($0)") }
        let (ended, lives) = (self.bench.resolve(holder.token), self.bench.resolve(stranger.token))
        let ends: [Invalidation] = [
            .session(holder.key), .lineage(holder.key.lineage), .subject("alice"), .subject("nobody"),
        ]
        self.bench.cache.invalidate(Endings(others.map { .session($0.key) } + [ends[way], .subject("carol 1")]))
        self.bench.answer(holder.session)
        self.bench.answer(stranger.session)
        #expect(ended.outcome == (way == 3 ? .found("alice") : .waiting))
        #expect(lives.outcome == .found("bob"))
        if way < 3 { self.bench.answer(nil) }
        #expect(ended.outcome == (way == 3 ? .found("alice") : .noSession))
    }

    @Test("A changed record is read again, also by a read under way, and ends no stream", arguments: [false, true])
    func changed(isAmongOthers: Bool) throws {
        let (holder, stranger) = (self.bench.holder(), self.bench.holder(subject: "bob"))
        self.bench.warm(holder)
        let entry = try #require(self.bench.resolve(holder.token).entry)
        var told: [Endings] = []
        self.bench.cache.onInvalidation = { told.append($0) }
        let changes: [Invalidation] = [.sessionRecord(holder.key), .sessionRecord(stranger.key)]
        let waiting = self.bench.resolve(stranger.token)
        if isAmongOthers {
            self.bench.cache.invalidate(Endings(changes))
        } else {
            for change in changes { self.bench.cache.invalidate(change) }
        }
        #expect(self.bench.cache.counters.entries == 0)
        #expect(told.allSatisfy { !$0.ends(entry) })
        self.bench.answer(stranger.session, version: 1)
        #expect(waiting.outcome == .waiting)
        self.bench.answer(stranger.session, version: 2)
        #expect(waiting.entry?.version.value == 2)
        let again = self.bench.resolve(holder.token)
        self.bench.answer(holder.session, version: 2)
        #expect(again.entry !== entry && again.entry?.version.value == 2)
    }

    @Test("If `.all` is among them, every entry is forgotten and no stream ends")
    func all() throws {
        let (holder, stranger) = (self.bench.holder(), self.bench.holder(subject: "bob"))
        self.bench.warm(holder)
        self.bench.warm(stranger)
        let entry = try #require(self.bench.resolve(holder.token).entry)
        let endings = Endings([.session(stranger.key), .all])
        self.bench.cache.invalidate(endings)
        #expect(self.bench.cache.counters.entries == 0)
        #expect(!endings.ends(entry))
    }
}
