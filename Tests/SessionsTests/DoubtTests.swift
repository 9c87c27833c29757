import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// While invalidations may be missed, a loop reads every session again before it uses it.
@Suite struct DoubtTests {
    private let bench = ResolverBench()

    @Test("While in doubt, every use reads first, and a session that has ended is no longer served")
    func rereads() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        #expect(self.bench.cache.isDoubting)
        for _ in 0..<3 {
            let pending = self.bench.resolve(holder.token)
            #expect(pending.outcome == .waiting)
            self.bench.answer(holder.session)
            #expect(pending.outcome == .found("alice"))
        }
        let last = self.bench.resolve(holder.token)
        self.bench.answer(nil)
        #expect(last.outcome == .noSession)
        #expect(self.bench.cache.counters.entries == 0)
        #expect(self.bench.cache.counters.doubtedUses == 0)
    }

    @Test("After a doubt, an entry that was read before the doubt ended stays doubted until it is read again")
    func trustReturns() {
        let (before, during) = (self.bench.holder(subject: "before"), self.bench.holder(subject: "during"))
        self.bench.warm(before)
        self.bench.caches.doubt()
        self.bench.warm(during)
        self.bench.caches.trust()
        #expect(!self.bench.cache.isDoubting)
        for holder in [before, during] {
            let pending = self.bench.resolve(holder.token)
            #expect(pending.outcome == .waiting)
            self.bench.answer(holder.session)
            #expect(pending.outcome == .found(holder.session.subject))
            #expect(self.bench.resolve(holder.token).outcome == .hit(holder.session.subject))
        }
    }

    @Test("After even a short doubt, no entry that was read before it is trusted")
    func shortDoubt() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        self.bench.caches.trust()
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
    }

    @Test("A read that confirms an entry keeps its prepared bytes")
    func keepsRenderings() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        let entry = try #require(self.bench.resolve(holder.token).entry)
        entry.setRendering([1], generation: 1)
        self.bench.caches.doubt()
        self.bench.caches.trust()
        let pending = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(pending.entry === entry && entry.rendering(generation: 1) == [1])
    }

    @Test("A cache that begins in doubt trusts no entry before the doubt ends")
    func beginsDoubting() {
        let bench = ResolverBench(isDoubting: true)
        let holder = bench.holder()
        bench.warm(holder)
        #expect(bench.caches.isDoubting && bench.cache.isDoubting)
        #expect(bench.cache.counters.doubts == 1)
        #expect(bench.resolve(holder.token).outcome == .waiting)
        bench.answer(holder.session)
        bench.caches.trust()
        bench.warm(holder)
        #expect(bench.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("A doubt is counted when it begins; doubting again during a doubt is not counted")
    func counted() {
        for _ in 0..<3 {
            self.bench.caches.doubt()
            self.bench.caches.doubt()
            self.bench.caches.trust()
            self.bench.caches.trust()
        }
        #expect(self.bench.cache.counters.doubts == 3)
    }

    // MARK: When the store is unavailable

    @Test("A doubted entry is served only if the store is unavailable, and never from its fifth second on (F1)")
    func unavailable() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        self.bench.clock.advance(by: .milliseconds(4999))
        let young = self.bench.resolve(holder.token)
        #expect(young.outcome == .waiting)
        self.bench.fail()
        #expect(young.outcome == .found("alice"))
        #expect(self.bench.cache.counters.doubtedUses == 1)
        self.bench.clock.advance(by: .milliseconds(1))
        let old = self.bench.resolve(holder.token)
        self.bench.fail()
        #expect(old.outcome == .failed(.unavailable))
        #expect(self.bench.cache.counters.doubtedUses == 1)
        #expect(self.bench.cache.counters.hits == 0)
    }

    @Test("The age of the entry when the store fails decides, not its age when the store was asked")
    func ageAtFailure() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        self.bench.clock.advance(by: .milliseconds(4950))
        let pending = self.bench.resolve(holder.token)
        self.bench.clock.advance(by: .milliseconds(50))
        self.bench.fail()
        #expect(pending.outcome == .failed(.unavailable))
    }

    @Test("A doubted entry is never served after the session's expiry or after the clock was set back")
    func unavailableAndOver() {
        for (life, step) in [(3, 3), (86_400, -60)] {
            let bench = ResolverBench()
            let holder = bench.holder(life: .seconds(life))
            bench.warm(holder)
            bench.caches.doubt()
            bench.clock.advance(by: .seconds(step))
            let pending = bench.resolve(holder.token)
            bench.fail()
            #expect(pending.outcome == .failed(.unavailable))
        }
    }

    @Test(
        "A session that ended during a doubt is not served, whether or not the store can be reached",
        arguments: 0..<4
    )
    func endInDoubt(_ way: Int) {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        let ends: [Invalidation] = [.session(holder.key), .lineage(holder.key.lineage), .subject("alice"), .all]
        self.bench.cache.invalidate(ends[way])
        let pending = self.bench.resolve(holder.token)
        self.bench.fail()
        #expect(pending.outcome == .failed(.unavailable))
        #expect(self.bench.cache.counters.doubtedUses == 0)
    }

    @Test("A token from a cookie is not accepted as a bearer token while it is doubted and the store is unavailable")
    func kinds() {
        let holder = self.bench.holder(kind: .web)
        self.bench.warm(holder)
        self.bench.caches.doubt()
        let wrong = self.bench.resolve(holder.token, as: .native)
        let right = self.bench.resolve(holder.token, as: .web)
        self.bench.fail()
        #expect(wrong.outcome == .noSession)
        #expect(right.outcome == .found("alice"))
        #expect(self.bench.cache.counters.doubtedUses == 1)
    }

    @Test("A use that could not be reported to the store is reported with a later one")
    func touch() {
        let holder = self.bench.holder(idle: .seconds(20))
        self.bench.warm(holder)
        self.bench.caches.doubt()
        self.bench.clock.advance(by: .seconds(3))
        _ = self.bench.resolve(holder.token)
        self.bench.fail()
        #expect(self.bench.store.touches.isEmpty)
        _ = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(self.bench.store.touches == [holder.key])
    }

    // MARK: Single-flight

    @Test(
        "Ten thousand requests for one doubted session cause one read, whether or not it is answered",
        arguments: [true, false]
    )
    func herd(isAvailable: Bool) {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        let waiters = (0..<10_000).map { _ in self.bench.resolve(holder.token) }
        #expect(self.bench.store.waiting == 1)
        if isAvailable { self.bench.answer(holder.session) } else { self.bench.fail() }
        #expect(waiters.allSatisfy { $0.outcome == .found("alice") })
        #expect(self.bench.store.waiting == 0)
        #expect(self.bench.cache.counters.doubtedUses == (isAvailable ? 0 : 10_000))
    }

    // MARK: Reads during which something changes

    @Test(
        "If a doubt begins or ends during a read, the read serves the requests that waited for it and no later ones",
        arguments: [(false, [true]), (false, [true, false]), (true, [false]), (true, [false, true])]
    )
    func overtaken(beginsInDoubt: Bool, doubts: [Bool]) {
        let holder = self.bench.holder()
        if beginsInDoubt { self.bench.caches.doubt() }
        let pending = self.bench.resolve(holder.token)
        for isDoubt in doubts {
            if isDoubt { self.bench.caches.doubt() } else { self.bench.caches.trust() }
        }
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        self.bench.caches.trust()
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
        self.bench.answer(holder.session)
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("A refresh during which a doubt began does not make a trusted entry")
    func overtakenRefresh() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(4))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        self.bench.caches.doubt()
        self.bench.caches.trust()
        self.bench.answer(holder.session)
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
    }

    @Test(
        "A request in doubt joins the outstanding read, and if the session may have ended meanwhile, the read is repeated"
    )
    func endOvertakesDoubtedRead() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        let first = self.bench.resolve(holder.token)
        self.bench.cache.invalidate(.subject("alice"))
        let second = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(first.outcome == .waiting && second.outcome == .waiting)
        self.bench.answer(nil)
        #expect(first.outcome == .noSession && second.outcome == .noSession)
    }

    @Test("If a refresh fails because the store is unavailable, a trusted entry is served until its fifth second")
    func refreshUnavailable() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(4))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        self.bench.fail()
        self.bench.clock.advance(by: .milliseconds(999))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        self.bench.fail()
        self.bench.clock.advance(by: .milliseconds(1))
        let pending = self.bench.resolve(holder.token)
        self.bench.fail()
        #expect(pending.outcome == .failed(.unavailable))
        #expect(self.bench.cache.counters.doubtedUses == 0)
    }
}
