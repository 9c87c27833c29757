import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// A session is read, then it ends, and only then the answer to the read arrives.
@Suite struct ReplyRaceTests {
    private let bench = ResolverBench()

    private func ends(of holder: ResolverBench.Holder) -> [Invalidation] {
        [.session(holder.key), .lineage(holder.key.lineage), .subject(holder.session.subject), .all]
    }

    @Test("An answer from before an end is neither kept nor served: the store is asked again", arguments: 0..<4)
    func answerAfterEnd(_ way: Int) {
        let holder = self.bench.holder()
        let pending = self.bench.resolve(holder.token)
        self.bench.cache.invalidate(self.ends(of: holder)[way])
        self.bench.answer(holder.session)
        #expect(pending.outcome == .waiting)
        self.bench.answer(nil)
        #expect(pending.outcome == .noSession)
        #expect(self.bench.cache.counters.entries == 0)
        #expect(self.bench.cache.counters.rereads == 1)
    }

    @Test("A request after an end that joins a read from before it does not get that read's answer")
    func joinAfterEnd() {
        let holder = self.bench.holder()
        let before = self.bench.resolve(holder.token)
        self.bench.cache.invalidate(.subject("alice"))
        let after = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(before.outcome == .waiting && after.outcome == .waiting)
        self.bench.answer(nil)
        #expect(before.outcome == .noSession && after.outcome == .noSession)
    }

    @Test("An end that concerns other sessions does not disturb a read")
    func otherEnd() {
        let holder = self.bench.holder()
        let stranger = self.bench.holder(subject: "bob")
        let pending = self.bench.resolve(holder.token)
        for end in self.ends(of: stranger).dropLast() { self.bench.cache.invalidate(end) }
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("A refresh from before an end does not bring the session back", arguments: 0..<4)
    func refreshAfterEnd(_ way: Int) {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(4))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        self.bench.cache.invalidate(self.ends(of: holder)[way])
        self.bench.answer(holder.session)
        #expect(self.bench.cache.counters.entries == 0)
        let pending = self.bench.resolve(holder.token)
        self.bench.answer(nil)
        #expect(pending.outcome == .noSession)
    }

    @Test("A session that did not end is served after a second read confirms it")
    func confirmedAfterReload() {
        let holder = self.bench.holder()
        let pending = self.bench.resolve(holder.token)
        self.bench.cache.invalidate(.all)
        self.bench.answer(holder.session)
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
    }

    @Test("If more ends arrive during a read than are remembered, the read is repeated, whatever they concerned")
    func manyEnds() {
        let (holder, other) = (self.bench.holder(), self.bench.holder(subject: "bob"))
        let pending = self.bench.resolve(holder.token)
        for _ in 0..<1025 { self.bench.cache.invalidate(.session(other.key)) }
        self.bench.answer(holder.session)
        #expect(pending.outcome == .waiting && self.bench.cache.counters.rereads == 1)
        self.bench.cache.invalidate(.session(other.key))
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice") && self.bench.cache.counters.rereads == 1)
    }

    @Test("If ends keep arriving during every read, the session is unavailable rather than guessed")
    func endless() {
        let holder = self.bench.holder()
        let pending = self.bench.resolve(holder.token)
        for _ in 0..<4 {
            self.bench.cache.invalidate(.all)
            self.bench.answer(holder.session)
        }
        #expect(pending.outcome == .failed(.unavailable))
        #expect(self.bench.cache.counters.entries == 0)
    }
}
