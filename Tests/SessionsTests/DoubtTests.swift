import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// While invalidations may be missed, a loop reads every session again before it uses it.
@Suite struct DoubtTests {
    private let fixture = ResolverFixture()

    @Test("While in doubt, every use reads first, and a session that has ended is no longer served")
    func rereads() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        #expect(self.fixture.cache.isDoubting)
        for _ in 0..<3 {
            let pending = self.fixture.resolve(holder.token)
            #expect(pending.outcome == .waiting)
            self.fixture.answer(holder.session)
            #expect(pending.outcome == .found("alice"))
        }
        let last = self.fixture.resolve(holder.token)
        self.fixture.answer(nil)
        #expect(last.outcome == .noSession)
        #expect(self.fixture.cache.counters.entries == 0)
        #expect(self.fixture.cache.counters.doubtedUses == 0)
    }

    @Test("After a doubt, an entry that was read before the doubt ended stays doubted until it is read again")
    func trustReturns() {
        let (before, during) = (self.fixture.holder(subject: "before"), self.fixture.holder(subject: "during"))
        self.fixture.warm(before)
        self.fixture.caches.doubt()
        self.fixture.warm(during)
        self.fixture.caches.trust()
        #expect(!self.fixture.cache.isDoubting)
        for holder in [before, during] {
            let pending = self.fixture.resolve(holder.token)
            #expect(pending.outcome == .waiting)
            self.fixture.answer(holder.session)
            #expect(pending.outcome == .found(holder.session.subject))
            #expect(self.fixture.resolve(holder.token).outcome == .hit(holder.session.subject))
        }
    }

    @Test("After even a short doubt, no entry that was read before it is trusted")
    func shortDoubt() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        self.fixture.caches.trust()
        #expect(self.fixture.resolve(holder.token).outcome == .waiting)
    }

    @Test("A read that confirms an entry keeps its prepared bytes")
    func keepsRenderings() throws {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        let entry = try #require(self.fixture.resolve(holder.token).entry)
        entry.setRendering([1], generation: 1)
        self.fixture.caches.doubt()
        self.fixture.caches.trust()
        let pending = self.fixture.resolve(holder.token)
        self.fixture.answer(holder.session)
        #expect(pending.entry === entry && entry.rendering(generation: 1) == [1])
    }

    @Test("A cache that begins in doubt trusts no entry before the doubt ends")
    func beginsDoubting() {
        let fixture = ResolverFixture(isDoubting: true)
        let holder = fixture.holder()
        fixture.warm(holder)
        #expect(fixture.caches.isDoubting && fixture.cache.isDoubting)
        #expect(fixture.cache.counters.doubts == 1)
        #expect(fixture.resolve(holder.token).outcome == .waiting)
        fixture.answer(holder.session)
        fixture.caches.trust()
        fixture.warm(holder)
        #expect(fixture.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("A doubt is counted when it begins; doubting again during a doubt is not counted")
    func counted() {
        for _ in 0..<3 {
            self.fixture.caches.doubt()
            self.fixture.caches.doubt()
            self.fixture.caches.trust()
            self.fixture.caches.trust()
        }
        #expect(self.fixture.cache.counters.doubts == 3)
    }

    // MARK: When the store is unavailable

    @Test("A doubted entry is served only if the store is unavailable, and never from its fifth second on (F1)")
    func unavailable() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        self.fixture.clock.advance(by: .milliseconds(4999))
        let young = self.fixture.resolve(holder.token)
        #expect(young.outcome == .waiting)
        self.fixture.fail()
        #expect(young.outcome == .found("alice"))
        #expect(self.fixture.cache.counters.doubtedUses == 1)
        self.fixture.clock.advance(by: .milliseconds(1))
        let old = self.fixture.resolve(holder.token)
        self.fixture.fail()
        #expect(old.outcome == .failed(.unavailable))
        #expect(self.fixture.cache.counters.doubtedUses == 1)
        #expect(self.fixture.cache.counters.hits == 0)
    }

    @Test("The age of the entry when the store fails decides, not its age when the store was asked")
    func ageAtFailure() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        self.fixture.clock.advance(by: .milliseconds(4950))
        let pending = self.fixture.resolve(holder.token)
        self.fixture.clock.advance(by: .milliseconds(50))
        self.fixture.fail()
        #expect(pending.outcome == .failed(.unavailable))
    }

    @Test("A doubted entry is never served after the session's expiry or after the clock was set back")
    func unavailableAndOver() {
        for (life, step) in [(3, 3), (86_400, -60)] {
            let fixture = ResolverFixture()
            let holder = fixture.holder(life: .seconds(life))
            fixture.warm(holder)
            fixture.caches.doubt()
            fixture.clock.advance(by: .seconds(step))
            let pending = fixture.resolve(holder.token)
            fixture.fail()
            #expect(pending.outcome == .failed(.unavailable))
        }
    }

    @Test(
        "A session that ended during a doubt is not served, whether or not the store can be reached",
        arguments: 0..<4
    )
    func endInDoubt(_ way: Int) {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        let ends: [Invalidation] = [.session(holder.key), .lineage(holder.key.lineage), .subject("alice"), .all]
        self.fixture.cache.invalidate(ends[way])
        let pending = self.fixture.resolve(holder.token)
        self.fixture.fail()
        #expect(pending.outcome == .failed(.unavailable))
        #expect(self.fixture.cache.counters.doubtedUses == 0)
    }

    @Test("A token from a cookie is not accepted as a bearer token while it is doubted and the store is unavailable")
    func kinds() {
        let holder = self.fixture.holder(kind: .web)
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        let wrong = self.fixture.resolve(holder.token, as: .native)
        let right = self.fixture.resolve(holder.token, as: .web)
        self.fixture.fail()
        #expect(wrong.outcome == .noSession)
        #expect(right.outcome == .found("alice"))
        #expect(self.fixture.cache.counters.doubtedUses == 1)
    }

    @Test("A use that could not be reported to the store is reported with a later one")
    func touch() {
        let holder = self.fixture.holder(idle: .seconds(20))
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        self.fixture.clock.advance(by: .seconds(3))
        _ = self.fixture.resolve(holder.token)
        self.fixture.fail()
        #expect(self.fixture.store.touches.isEmpty)
        _ = self.fixture.resolve(holder.token)
        self.fixture.answer(holder.session)
        #expect(self.fixture.store.touches == [holder.key])
    }

    // MARK: Single-flight

    @Test(
        "Ten thousand requests for one doubted session cause one read, whether or not it is answered",
        arguments: [true, false]
    )
    func herd(isAvailable: Bool) {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        let waiters = (0..<10_000).map { _ in self.fixture.resolve(holder.token) }
        #expect(self.fixture.store.waiting == 1)
        if isAvailable { self.fixture.answer(holder.session) } else { self.fixture.fail() }
        #expect(waiters.allSatisfy { $0.outcome == .found("alice") })
        #expect(self.fixture.store.waiting == 0)
        #expect(self.fixture.cache.counters.doubtedUses == (isAvailable ? 0 : 10_000))
    }

    // MARK: Reads during which something changes

    @Test(
        "If a doubt begins or ends during a read, the read serves the requests that waited for it and no later ones",
        arguments: [(false, [true]), (false, [true, false]), (true, [false]), (true, [false, true])]
    )
    func overtaken(beginsInDoubt: Bool, doubts: [Bool]) {
        let holder = self.fixture.holder()
        if beginsInDoubt { self.fixture.caches.doubt() }
        let pending = self.fixture.resolve(holder.token)
        for isDoubt in doubts {
            if isDoubt { self.fixture.caches.doubt() } else { self.fixture.caches.trust() }
        }
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        self.fixture.caches.trust()
        #expect(self.fixture.resolve(holder.token).outcome == .waiting)
        self.fixture.answer(holder.session)
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("A refresh during which a doubt began does not make a trusted entry")
    func overtakenRefresh() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.clock.advance(by: .seconds(4))
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
        self.fixture.caches.doubt()
        self.fixture.caches.trust()
        self.fixture.answer(holder.session)
        #expect(self.fixture.resolve(holder.token).outcome == .waiting)
    }

    @Test(
        "A request in doubt joins the outstanding read, and if the session may have ended meanwhile, the read is repeated"
    )
    func endOvertakesDoubtedRead() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.caches.doubt()
        let first = self.fixture.resolve(holder.token)
        self.fixture.cache.invalidate(.subject("alice"))
        let second = self.fixture.resolve(holder.token)
        self.fixture.answer(holder.session)
        #expect(first.outcome == .waiting && second.outcome == .waiting)
        self.fixture.answer(nil)
        #expect(first.outcome == .noSession && second.outcome == .noSession)
    }

    @Test("If a refresh fails because the store is unavailable, a trusted entry is served until its fifth second")
    func refreshUnavailable() {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.clock.advance(by: .seconds(4))
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
        self.fixture.fail()
        self.fixture.clock.advance(by: .milliseconds(999))
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
        self.fixture.fail()
        self.fixture.clock.advance(by: .milliseconds(1))
        let pending = self.fixture.resolve(holder.token)
        self.fixture.fail()
        #expect(pending.outcome == .failed(.unavailable))
        #expect(self.fixture.cache.counters.doubtedUses == 0)
    }
}
