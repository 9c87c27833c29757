import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

@Suite struct SessionCacheTests {
    @Test("A table never holds more than its capacity, and finds each token that it holds")
    func bounded() {
        let bench = ResolverBench(capacity: 16)
        let holders = (0..<200).map { bench.holder(subject: "user \($0)") }
        for holder in holders { bench.warm(holder) }
        #expect(bench.cache.counters.entries == 16)
        #expect(bench.cache.counters.evictions == 184)
        var found = 0
        for holder in holders {
            let entry = holder.token.bytes.withUnsafeBytes { bench.cache.lookup($0, now: bench.clock.now) }
            guard let entry else { continue }
            found += 1
            #expect(entry.session == holder.session)
        }
        #expect(found == 16)
    }

    @Test("A table without room keeps nothing: every request asks, and requests at the same time share one read")
    func off() {
        let bench = ResolverBench(capacity: 0)
        let holder = bench.holder()
        for _ in 0..<3 {
            let waiting = (0..<5).map { _ in bench.resolve(holder.token) }
            #expect(waiting.allSatisfy { $0.outcome == .waiting })
            bench.answer(holder.session)
            #expect(waiting.allSatisfy { $0.outcome == .found("alice") })
        }
        #expect(bench.store.takeRead() == nil && bench.cache.counters.entries == 0)
        bench.cache.invalidate(.lineage(holder.key.lineage))
        bench.cache.invalidate(.all)
        #expect(bench.resolve(holder.token).outcome == .waiting)
    }

    @Test("When the table is full, sessions in use stay and unused ones are removed first")
    func secondChance() {
        let bench = ResolverBench(capacity: 32)
        let busy = bench.holder(subject: "busy")
        bench.warm(busy)
        for index in 0..<300 {
            bench.warm(bench.holder(subject: "user \(index)"))
            #expect(bench.resolve(busy.token).outcome == .hit("busy"))
        }
        #expect(bench.cache.counters.entries == 32)
    }

    @Test("An end removes entries by key, by lineage or by subject, and no others")
    func invalidation() {
        let bench = ResolverBench()
        let alice = bench.holder(subject: "alice")
        let alicesPhone = bench.holder(subject: "alice")
        let bob = bench.holder(subject: "bob")
        let carol = bench.holder(subject: "carol")
        for holder in [alice, alicesPhone, bob, carol] { bench.warm(holder) }
        func known() -> [String] {
            [alice, alicesPhone, bob, carol].compactMap { holder in
                holder.token.bytes.withUnsafeBytes { bench.cache.entry(for: $0)?.session.subject }
            }
        }
        bench.cache.invalidate(.session(bob.key))
        #expect(known() == ["alice", "alice", "carol"])
        bench.cache.invalidate(.lineage(alicesPhone.key.lineage))
        #expect(known() == ["alice", "carol"])
        bench.cache.invalidate(.subject("alice"))
        #expect(known() == ["carol"])
        bench.cache.invalidate(.subject("nobody"))
        #expect(known() == ["carol"])
        bench.cache.invalidate(.all)
        #expect(known().isEmpty)
        #expect(bench.cache.counters.entries == 0)
    }

    @Test("The table keeps working after it was emptied many times")
    func reuse() {
        let bench = ResolverBench(capacity: 8)
        for round in 0..<50 {
            let holders = (0..<12).map { bench.holder(subject: "\(round).\($0)") }
            for holder in holders { bench.warm(holder) }
            #expect(bench.cache.counters.entries == 8)
            #expect(bench.resolve(holders[11].token).outcome == .hit("\(round).11"))
            bench.cache.invalidate(.all)
            #expect(bench.cache.counters.entries == 0)
        }
    }

    @Test("The streams' observer is told of an end after the entry is removed from the table")
    func observer() throws {
        let bench = ResolverBench()
        let holder = bench.holder()
        bench.warm(holder)
        let entry = try #require(bench.resolve(holder.token).entry)
        var told: [Invalidation] = []
        bench.cache.onInvalidation = { [cache = bench.cache] ended in
            told += ended.invalidations
            #expect(holder.token.bytes.withUnsafeBytes { cache.entry(for: $0) == nil })
        }
        bench.cache.invalidate(.lineage(holder.key.lineage))
        #expect(told == [.lineage(holder.key.lineage)])
        #expect(told[0].ends(entry) && Invalidation.session(holder.key).ends(entry))
        #expect(Invalidation.subject("alice").ends(entry))
        #expect(!Invalidation.subject("bob").ends(entry))
        #expect(!Invalidation.all.ends(entry), "a reload ends nobody's stream")
    }

    @Test("Prepared identity bytes are returned only to the configuration that made them")
    func renderings() throws {
        let bench = ResolverBench()
        let holder = bench.holder()
        bench.warm(holder)
        let entry = try #require(bench.resolve(holder.token).entry)
        #expect(entry.rendering(generation: 1) == nil)
        entry.setRendering([1, 2, 3], generation: 1)
        #expect(entry.rendering(generation: 1) == [1, 2, 3])
        #expect(entry.rendering(generation: 2) == nil)
        entry.setRendering([4], generation: 2)
        #expect(entry.rendering(generation: 1) == nil)
        #expect(entry.rendering(generation: 2) == [4])
        // Those for apps with the other encoding stand beside them.
        #expect(entry.otherRendering(generation: 2) == nil)
        entry.setOtherRendering([5], generation: 2)
        #expect(entry.rendering(generation: 2) == [4] && entry.otherRendering(generation: 2) == [5])
        entry.setRendering([6], generation: 3)
        #expect(entry.otherRendering(generation: 2) == nil && entry.otherRendering(generation: 3) == nil)
        entry.setOtherRendering([7], generation: 4)
        #expect(entry.rendering(generation: 3) == nil && entry.rendering(generation: 4) == nil)
        #expect(entry.otherRendering(generation: 4) == [7])
    }
}
