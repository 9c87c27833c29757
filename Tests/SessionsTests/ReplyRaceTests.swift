import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// A session is read, then it ends, and only then the answer to the read arrives.
@Suite struct ReplyRaceTests {
    private let fixture = ResolverFixture()

    private func ends(of holder: ResolverFixture.Holder) -> [Invalidation] {
        [.session(holder.key), .lineage(holder.key.lineage), .subject(holder.session.subject), .all]
    }

    @Test("An answer from before an end is neither kept nor served: the store is asked again", arguments: 0..<4)
    func answerAfterEnd(_ way: Int) {
        let holder = self.fixture.holder()
        let pending = self.fixture.resolve(holder.token)
        self.fixture.cache.invalidate(self.ends(of: holder)[way])
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .waiting)
        self.fixture.answer(nil)
        #expect(pending.outcome == .noSession)
        #expect(self.fixture.cache.counters.entries == 0)
        #expect(self.fixture.cache.counters.rereads == 1)
    }

    @Test("A request after an end that joins a read from before it does not get that read's answer")
    func joinAfterEnd() {
        let holder = self.fixture.holder()
        let before = self.fixture.resolve(holder.token)
        self.fixture.cache.invalidate(.subject("alice"))
        let after = self.fixture.resolve(holder.token)
        self.fixture.answer(holder.session)
        #expect(before.outcome == .waiting && after.outcome == .waiting)
        self.fixture.answer(nil)
        #expect(before.outcome == .noSession && after.outcome == .noSession)
    }

    @Test("An end that concerns other sessions does not disturb a read")
    func otherEnd() {
        let holder = self.fixture.holder()
        let stranger = self.fixture.holder(subject: "bob")
        let pending = self.fixture.resolve(holder.token)
        for end in self.ends(of: stranger).dropLast() { self.fixture.cache.invalidate(end) }
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("A refresh from before an end does not bring the session back", arguments: 0..<4)
    func refreshAfterEnd(_ way: Int) {
        let holder = self.fixture.holder()
        self.fixture.warm(holder)
        self.fixture.clock.advance(by: .seconds(4))
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
        self.fixture.cache.invalidate(self.ends(of: holder)[way])
        self.fixture.answer(holder.session)
        #expect(self.fixture.cache.counters.entries == 0)
        let pending = self.fixture.resolve(holder.token)
        self.fixture.answer(nil)
        #expect(pending.outcome == .noSession)
    }

    @Test("A session that did not end is served after a second read confirms it")
    func confirmedAfterReload() {
        let holder = self.fixture.holder()
        let pending = self.fixture.resolve(holder.token)
        self.fixture.cache.invalidate(.all)
        self.fixture.answer(holder.session)
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        #expect(self.fixture.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("If more ends arrive during a read than are remembered, the read is repeated, whatever they concerned")
    func manyEnds() {
        let (holder, other) = (self.fixture.holder(), self.fixture.holder(subject: "bob"))
        let pending = self.fixture.resolve(holder.token)
        for _ in 0..<1025 { self.fixture.cache.invalidate(.session(other.key)) }
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .waiting && self.fixture.cache.counters.rereads == 1)
        self.fixture.cache.invalidate(.session(other.key))
        self.fixture.answer(holder.session)
        #expect(pending.outcome == .found("alice") && self.fixture.cache.counters.rereads == 1)
    }

    @Test("If ends keep arriving during every read, the session is unavailable rather than guessed")
    func endless() {
        let holder = self.fixture.holder()
        let pending = self.fixture.resolve(holder.token)
        for _ in 0..<4 {
            self.fixture.cache.invalidate(.all)
            self.fixture.answer(holder.session)
        }
        #expect(pending.outcome == .failed(.unavailable))
        #expect(self.fixture.cache.counters.entries == 0)
    }
}
