import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

@Suite struct SessionCacheTests {
    @Test("A table never holds more than its capacity, and finds each token that it holds")
    func bounded() {
        let fixture = ResolverFixture(capacity: 16)
        let holders = (0..<200).map { fixture.holder(subject: "user \($0)") }
        for holder in holders { fixture.warm(holder) }
        #expect(fixture.cache.counters.entries == 16)
        #expect(fixture.cache.counters.evictions == 184)
        var found = 0
        for holder in holders {
            let entry = holder.token.bytes.withUnsafeBytes { fixture.cache.lookup($0, now: fixture.clock.now) }
            guard let entry else { continue }
            found += 1
            #expect(entry.session == holder.session)
        }
        #expect(found == 16)
    }

    @Test("A table without room keeps nothing: every request asks, and requests at the same time share one read")
    func off() {
        let fixture = ResolverFixture(capacity: 0)
        let holder = fixture.holder()
        for _ in 0..<3 {
            let waiting = (0..<5).map { _ in fixture.resolve(holder.token) }
            #expect(waiting.allSatisfy { $0.outcome == .waiting })
            fixture.answer(holder.session)
            #expect(waiting.allSatisfy { $0.outcome == .found("alice") })
        }
        #expect(fixture.store.takeRead() == nil && fixture.cache.counters.entries == 0)
        fixture.cache.invalidate(.lineage(holder.key.lineage))
        fixture.cache.invalidate(.all)
        #expect(fixture.resolve(holder.token).outcome == .waiting)
    }

    @Test("When the table is full, sessions in use stay and unused ones are removed first")
    func secondChance() {
        let fixture = ResolverFixture(capacity: 32)
        let busy = fixture.holder(subject: "busy")
        fixture.warm(busy)
        for index in 0..<300 {
            fixture.warm(fixture.holder(subject: "user \(index)"))
            #expect(fixture.resolve(busy.token).outcome == .hit("busy"))
        }
        #expect(fixture.cache.counters.entries == 32)
    }

    @Test("An end removes entries by key, by lineage or by subject, and no others")
    func invalidation() {
        let fixture = ResolverFixture()
        let alice = fixture.holder(subject: "alice")
        let alicesPhone = fixture.holder(subject: "alice")
        let bob = fixture.holder(subject: "bob")
        let carol = fixture.holder(subject: "carol")
        for holder in [alice, alicesPhone, bob, carol] { fixture.warm(holder) }
        func known() -> [String] {
            [alice, alicesPhone, bob, carol].compactMap { holder in
                holder.token.bytes.withUnsafeBytes { fixture.cache.entry(for: $0)?.session.subject }
            }
        }
        fixture.cache.invalidate(.session(bob.key))
        #expect(known() == ["alice", "alice", "carol"])
        fixture.cache.invalidate(.lineage(alicesPhone.key.lineage))
        #expect(known() == ["alice", "carol"])
        fixture.cache.invalidate(.subject("alice"))
        #expect(known() == ["carol"])
        fixture.cache.invalidate(.subject("nobody"))
        #expect(known() == ["carol"])
        fixture.cache.invalidate(.all)
        #expect(known().isEmpty)
        #expect(fixture.cache.counters.entries == 0)
    }

    @Test("The table keeps working after it was emptied many times")
    func reuse() {
        let fixture = ResolverFixture(capacity: 8)
        for round in 0..<50 {
            let holders = (0..<12).map { fixture.holder(subject: "\(round).\($0)") }
            for holder in holders { fixture.warm(holder) }
            #expect(fixture.cache.counters.entries == 8)
            #expect(fixture.resolve(holders[11].token).outcome == .hit("\(round).11"))
            fixture.cache.invalidate(.all)
            #expect(fixture.cache.counters.entries == 0)
        }
    }

    @Test("The streams' observer is told of an end after the entry is removed from the table")
    func observer() throws {
        let fixture = ResolverFixture()
        let holder = fixture.holder()
        fixture.warm(holder)
        let entry = try #require(fixture.resolve(holder.token).entry)
        var told: [Invalidation] = []
        fixture.cache.onInvalidation = { [cache = fixture.cache] ended in
            told += ended.invalidations
            #expect(holder.token.bytes.withUnsafeBytes { cache.entry(for: $0) == nil })
        }
        fixture.cache.invalidate(.lineage(holder.key.lineage))
        #expect(told == [.lineage(holder.key.lineage)])
        #expect(told[0].ends(entry) && Invalidation.session(holder.key).ends(entry))
        #expect(Invalidation.subject("alice").ends(entry))
        #expect(!Invalidation.subject("bob").ends(entry))
        #expect(!Invalidation.all.ends(entry), "a reload ends nobody's stream")
    }

    @Test("Prepared identity bytes are returned only to the configuration that made them")
    func renderings() throws {
        let fixture = ResolverFixture()
        let holder = fixture.holder()
        fixture.warm(holder)
        let entry = try #require(fixture.resolve(holder.token).entry)
        #expect(entry.rendering(generation: 1) == nil)
        entry.setRendering([1, 2, 3], generation: 1)
        #expect(entry.rendering(generation: 1) == [1, 2, 3])
        #expect(entry.rendering(generation: 2) == nil)
        entry.setRendering([4], generation: 2)
        #expect(entry.rendering(generation: 1) == nil)
        #expect(entry.rendering(generation: 2) == [4])
    }
}
