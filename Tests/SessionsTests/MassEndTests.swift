import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// Many sessions that end at once: each serves no more at once, and the loop serves its connections between the slices in
/// which they are removed. A slice has five steps here (`SliceSteps`), which remove forty sessions.
@Suite struct MassEndTests {
    private let bench = ResolverBench(capacity: 4096)
    private let strangers: [ResolverBench.Holder]

    init() {
        let bench = self.bench
        self.strangers = (0..<10).map { bench.holder(subject: "stranger \($0)") }
        for holder in self.strangers { bench.warm(holder) }
    }

    private func crowd(_ count: Int, subject: (Int) -> String, lineage: Lineage? = nil) -> [ResolverBench.Holder] {
        let holders = (0..<count).map { self.bench.holder(subject: subject($0), lineage: lineage) }
        for holder in holders { self.bench.warm(holder) }
        return holders
    }

    private var strangersAreServed: Bool { self.strangers.allSatisfy { self.bench.serves($0) } }

    /// Lets the loop do the next slice.
    private func pass() { self.bench.loop.advanceTime(by: .milliseconds(1)) }

    @Test("None of them is served after the confirmation, and others are, while they are removed", arguments: 0..<3)
    func ends(_ way: Int) throws {
        let lineage = testAuthority.newLineage()
        let crowd = self.crowd(2500, subject: { way == 0 ? "crowd" : "user \($0)" }, lineage: way == 1 ? lineage : nil)
        let loop = self.bench.loop
        switch way {
        case 0: try self.bench.caches.invalidate(.subject("crowd"), on: loop).wait()
        case 1: try self.bench.caches.invalidate(.lineage(lineage), on: loop).wait()
        default: self.bench.cache.invalidate(Endings(crowd.map { .session($0.key) }))
        }
        var slices = 0
        repeat {
            #expect(!crowd.contains { self.bench.serves($0) })
            #expect(self.strangersAreServed)
            self.pass()
            slices += 1
        } while self.bench.cache.counters.entries > self.strangers.count && slices < 1000
        #expect(slices > 20, "they were not removed in one slice")
        #expect(self.strangersAreServed)
    }

    @Test("None of them is served during a doubt either, while they are removed")
    func endsDuringDoubt() {
        let crowd = self.crowd(500) { _ in "crowd" }
        self.bench.caches.doubt()
        self.bench.cache.invalidate(.subject("crowd"))
        #expect(!crowd.contains { self.bench.serves($0) })
        #expect(!self.strangersAreServed)
    }

    @Test("After `.all` the removal goes on, though the table that had them has gone")
    func allDuringRemoval() {
        // More than the slots in which new entries wait, with which a table begins.
        let crowd = self.crowd(500) { _ in "crowd" }
        self.bench.cache.invalidate(.subject("crowd"))
        self.pass()
        self.bench.cache.invalidate(.all)
        self.bench.warm(self.strangers[0])
        for _ in 0..<1000 { self.pass() }
        #expect(!crowd.contains { self.bench.serves($0) })
        #expect(self.bench.serves(self.strangers[0]) && self.bench.cache.counters.entries == 1)
    }

    @Test("Those that ended are asked for meanwhile: the store answers, and what it finds is kept")
    func reread() {
        let crowd = self.crowd(100) { _ in "crowd" }
        self.bench.cache.invalidate(.subject("crowd"))
        let (ended, isBack) = (self.bench.resolve(crowd[0].token), self.bench.resolve(crowd[1].token))
        self.bench.answer(nil)
        self.bench.answer(crowd[1].session)
        #expect(ended.outcome == .noSession && isBack.outcome == .found("crowd"))
        for _ in 0..<100 { self.pass() }
        #expect(self.bench.serves(crowd[1]), "it was read after the end")
        #expect(self.bench.cache.counters.entries == self.strangers.count + 1)
    }

    @Test("Who signs in again meanwhile is served, then and later")
    func signInMeanwhile() {
        let crowd = self.crowd(500) { _ in "crowd" }
        self.bench.cache.invalidate(.subject("crowd"))
        self.pass()
        let later = self.crowd(20) { _ in "crowd" }
        for _ in 0..<30 {
            #expect(later.allSatisfy { self.bench.serves($0) })
            #expect(!crowd.contains { self.bench.serves($0) })
            self.pass()
        }
        #expect(self.bench.cache.counters.entries == self.strangers.count + later.count)
        self.bench.cache.invalidate(.subject("crowd"))
        #expect(!later.contains { self.bench.serves($0) }, "the next end concerns them")
    }

    @Test("Each request under way knows at once that its session has ended, and each later one is not concerned")
    func underWay() {
        let crowd = self.crowd(500) { _ in "crowd" }
        let entries = crowd.compactMap { self.bench.resolve($0.token).entry }
        self.bench.cache.invalidate(.subject("crowd"))
        let later = self.bench.holder(subject: "crowd")
        self.bench.warm(later)
        let entry = self.bench.resolve(later.token).entry
        #expect(entries.count == 500)
        #expect(entries.allSatisfy { self.bench.cache.hasEnded($0) })
        #expect(entry.map { self.bench.cache.hasEnded($0) } == false)
    }

    @Test(
        "A request under way knows of the end after its session was evicted, or forgotten with all others, meanwhile",
        arguments: [false, true]
    )
    func forgottenMeanwhile(all: Bool) {
        let bench = ResolverBench(capacity: 512)
        // The hand of the eviction and the sweep do not come to them in the same order.
        let crowd = (0..<500).map { _ in bench.holder(subject: "crowd") }
        for holder in crowd { bench.warm(holder) }
        let entries = crowd.compactMap { bench.resolve($0.token).entry }.filter(\.isKept)
        bench.cache.invalidate(.subject("crowd"))
        if all {
            bench.cache.invalidate(.all)
        } else {
            for index in 0..<2000 { bench.warm(bench.holder(subject: "user \(index)")) }
        }
        bench.loop.advanceTime(by: .seconds(1))
        #expect(entries.count > 400 && entries.allSatisfy { bench.cache.hasEnded($0) })
    }

    @Test("Many records that changed at once are read again, and their sessions have not ended")
    func changes() {
        let crowd = self.crowd(500) { "user \($0)" }
        let entries = crowd.compactMap { self.bench.resolve($0.token).entry }
        self.bench.cache.invalidate(Endings(crowd.map { .sessionRecord($0.key) }))
        #expect(!crowd.contains { self.bench.serves($0) })
        #expect(!entries.contains { self.bench.cache.hasEnded($0) })
        for holder in crowd { self.bench.warm(holder) }
        for _ in 0..<200 { self.pass() }
        #expect(crowd.allSatisfy { self.bench.serves($0) } && self.strangersAreServed)
    }

    @Test("An ended entry is not served while the store is unavailable, even before it is removed")
    func unavailable() {
        let crowd = self.crowd(100) { _ in "crowd" }
        self.bench.cache.invalidate(.subject("crowd"))
        let pending = crowd.map { self.bench.resolve($0.token) }
        for _ in crowd { self.bench.fail() }
        #expect(pending.allSatisfy { $0.outcome == .failed(.unavailable) })
        #expect(self.bench.cache.counters.doubtedUses == 0)
    }

    @Test("After `.all` nothing is served, new sessions are kept at once, and the former ones are released in slices")
    func all() {
        weak var released: CachedSession?
        let crowd = self.crowd(500) { "user \($0)" }
        released = self.bench.resolve(self.strangers[0].token).entry
        self.bench.cache.invalidate(.all)
        #expect(self.bench.cache.counters.entries == 0 && released != nil)
        #expect(!(crowd + self.strangers).contains { self.bench.serves($0) })
        self.bench.warm(crowd[3])
        #expect(self.bench.serves(crowd[3]) && self.bench.cache.counters.entries == 1)
        for _ in 0..<1000 { self.pass() }
        #expect(released == nil)
        #expect(self.bench.serves(crowd[3]) && self.bench.cache.counters.entries == 1)
    }

    @Test("A doubt about all of them takes effect at once, and each is kept for when the store cannot be reached")
    func doubt() {
        let crowd = self.crowd(500) { "user \($0)" }
        self.bench.caches.doubt()
        #expect(!(crowd + self.strangers).contains { self.bench.serves($0) })
        #expect(self.bench.cache.counters.entries == crowd.count + self.strangers.count)
        let pending = self.bench.resolve(crowd[7].token)
        self.bench.fail()
        #expect(pending.outcome == .found("user 7"))
    }

    @Test(
        "Whatever was added, evicted and ended in whatever order, exactly what ended serves no more",
        arguments: [64, 4096]
    )
    func anyOrder(capacity: Int) {
        let bench = ResolverBench(capacity: capacity)
        let lineages = (0..<40).map { _ in testAuthority.newLineage() }
        // More of each user than a slice removes.
        let holders = (0..<400).map { bench.holder(subject: "user \($0 % 3)", lineage: lineages[$0 % 40]) }
        var known: Set<RecordKey> = []
        /// What requests under way hold, and whether that has ended.
        var held: [(entry: CachedSession, holder: ResolverBench.Holder, hasEnded: Bool)] = []
        func end(_ invalidation: Invalidation, _ isEnded: (ResolverBench.Holder) -> Bool) {
            bench.cache.invalidate(invalidation)
            known.subtract(holders.filter(isEnded).map(\.key))
            for index in held.indices where isEnded(held[index].holder) { held[index].hasEnded = true }
        }
        var state: UInt64 = 5
        func number(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for _ in 0..<3000 {
            let holder = holders[number(below: holders.count)]
            switch number(below: 20) {
            case 0: end(.session(holder.key)) { $0.key == holder.key }
            case 1: end(.lineage(holder.key.lineage)) { $0.key.lineage == holder.key.lineage }
            case 2:
                if number(below: 10) == 0 {
                    end(.subject(holder.session.subject)) { $0.session.subject == holder.session.subject }
                }
            case 3: bench.loop.advanceTime(by: .milliseconds(1))
            default:
                if !bench.serves(holder) { bench.warm(holder) }
                known.insert(holder.key)
                if let entry = bench.resolve(holder.token).entry { held.append((entry, holder, false)) }
            }
        }
        for (entry, _, hasEnded) in held where capacity > holders.count || !hasEnded {
            #expect(bench.cache.hasEnded(entry) == hasEnded)
        }
        let served = holders.filter { bench.serves($0) }.map(\.key)
        #expect(Set(served).isSubset(of: known))
        if capacity > holders.count { #expect(Set(served) == known) }
        bench.loop.advanceTime(by: .seconds(1))
        #expect(bench.cache.counters.entries == served.count)
    }

    @Test("The end of a subject's sessions in memory takes effect at once, and gives their room back in slices")
    func memory() throws {
        let bench = MemoryBench()
        let ended = try (0..<500).map { _ in try bench.signIn(subject: "crowd") }
        let stranger = try bench.signIn(subject: "stranger")
        try bench.store.end(subject: "crowd", on: bench.loop).wait()
        #expect(bench.store.sessionCount > 400)
        #expect(try ended.suffix(20).allSatisfy { try bench.session($0) == nil })
        let later = try bench.signIn(subject: "crowd")
        for _ in 0..<1000 { bench.loop.advanceTime(by: .milliseconds(1)) }
        #expect(bench.store.sessionCount == 2)
        #expect(try bench.session(later) != nil && bench.session(stranger) != nil)
        #expect(try bench.store.sessions(of: "crowd", on: bench.loop).wait() == [later])
    }
}
