import Cryptography
import RedisStore
import Sessions
import StoreBench
import StoreConformance
import Synchronization
import Testing
import Vocabulary

/// What a gateway remembers of sessions that have ended.
@Suite struct EndingMemoryTests {
    private let clock = MovableClock()
    private let steady = SteadyTime()
    private let authority = TokenAuthority(secret: Secret("the secret of the tests"))

    private final class SteadyTime: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { self.time.withLock { $0 } }
        func advance(by duration: Duration) { self.time.withLock { $0 += duration } }
    }

    private func memory(capacity: Int = 100) -> EndingMemory {
        EndingMemory(capacity: capacity, clock: self.clock.clock, now: { [steady] in steady.now })
    }

    private func pass(_ duration: Duration) {
        self.clock.advance(by: duration)
        self.steady.advance(by: duration)
    }

    /// A session that begins now.
    private func holder(_ subject: String = "alice", epoch: UInt64 = 5) -> NewSession {
        let lineage = self.authority.newLineage()
        var session = RedisStoreBench.session(subject: subject, lineage: lineage, now: self.clock.now)
        session.epoch = epoch
        return NewSession(key: self.authority.make(.session, in: lineage).key, session: session)
    }

    private func hasEnded(_ holder: NewSession, in memory: EndingMemory) -> Bool {
        memory.hasEnded(holder.key, holder.session) { ["name of \($0)", "old name of \($0)"] }
    }

    @Test("A session ends by itself, with its lineage, and with its subject if it began before")
    func kinds() {
        let memory = self.memory()
        let (one, two, three) = (self.holder(), self.holder(), self.holder("bob"))
        let later = self.holder("bob", epoch: 6)
        for holder in [one, two, three, later] { #expect(!self.hasEnded(holder, in: memory)) }
        memory.note(.session(one.key))
        memory.note(.lineage(two.key.lineage))
        memory.note(.subject("old name of bob", epoch: 6))
        memory.note(.subject("old name of bob", epoch: 3))
        for holder in [one, two, three] { #expect(self.hasEnded(holder, in: memory)) }
        #expect(!self.hasEnded(later, in: memory))
        #expect(!self.hasEnded(self.holder(), in: memory))
        #expect(
            Set(memory.beginReign())
                == [.session(one.key), .lineage(two.key.lineage), .subject("old name of bob", epoch: 6)]
        )
    }

    @Test("A replaceable record ends by itself, with its lineage, and with its owner if it was born before")
    func records() {
        let memory = self.memory()
        let (one, two, three) = (self.holder(), self.holder(), self.holder("bob"))
        let later = self.holder("bob", epoch: 6)
        func hasEnded(_ holder: NewSession) -> Bool {
            let terms = RecordTerms(of: holder, now: self.clock.now, life: .seconds(60), hasParent: false)
            return memory.hasEnded(TestTicket.family(of: holder.key), terms) { ["name of \($0)"] }
        }
        for holder in [one, two, three, later] { #expect(!hasEnded(holder)) }
        memory.note(.record(TestTicket.family(of: one.key)))
        memory.note(.lineage(two.key.lineage))
        memory.note(.subject("name of bob", epoch: 6))
        for holder in [one, two, three] { #expect(hasEnded(holder)) }
        #expect(!hasEnded(later))
        // The session beside it lives on.
        #expect(!self.hasEnded(one, in: memory))
        #expect(memory.beginReign().contains(.record(TestTicket.family(of: one.key))))
        let unowned = RecordTerms(since: self.clock.now, expiresAt: self.clock.now.advanced(by: .seconds(60)))
        #expect(!memory.hasEnded(TestTicket.family(of: later.key), unowned) { ["name of \($0)"] })
    }

    @Test("An ending is kept for fifteen minutes")
    func span() {
        let memory = self.memory()
        let first = self.holder()
        memory.note(.session(first.key))
        for _ in 0..<14 {
            self.pass(.seconds(60))
            memory.note(.session(self.holder().key))
        }
        #expect(self.hasEnded(first, in: memory))
        for _ in 0..<20 {
            self.pass(.seconds(60))
            memory.note(.session(self.holder().key))
        }
        #expect(!self.hasEnded(first, in: memory))
        #expect(memory.beginReign().count >= 15)
        // Older endings were not lost: their time was over.
        #expect(!self.hasEnded(first, in: memory))
    }

    @Test(
        "When there are too many endings to keep, all older sessions count as ended after the next failover or restart, not before"
    )
    func full() {
        let memory = self.memory(capacity: 10)
        let old = self.holder()
        self.pass(.seconds(1))
        for _ in 0...10 * EndingMemory.maxGenerations { memory.note(.session(self.holder().key)) }
        let new = self.holder()
        #expect(!self.hasEnded(old, in: memory))
        #expect(memory.beginReign().count == 10 * (EndingMemory.maxGenerations - 1) + 1)
        #expect(self.hasEnded(old, in: memory))
        #expect(!self.hasEnded(new, in: memory))
    }

    /// 582 a second with the full capacity, which `EndingMemory` states.
    @Test("Endings that come steadily are all kept up to a rate", arguments: [(2260, true), (2200, false)])
    func steadyEnds(_ milliseconds: Int, _ fits: Bool) {
        #expect((EndingMemory.maxGenerations - 1) * EndingMemory.capacity / 900 == 582)
        let memory = self.memory(capacity: 100)
        let old = self.holder()
        var lately: [(time: UnixTime, key: RecordKey)] = []
        for _ in 0...2000 {
            self.pass(.milliseconds(milliseconds))
            let ended = self.holder().key
            memory.note(.session(ended))
            lately.append((self.clock.now, ended))
        }
        let kept = Set(memory.beginReign())
        #expect(self.hasEnded(old, in: memory) == !fits)
        #expect(kept.count <= EndingMemory.maxGenerations * 100)
        lately.removeAll { self.clock.now.since($0.time) >= EndingMemory.span }
        // Where one was dropped early, at least the latest are there.
        let sure = fits ? lately[...] : lately.suffix((EndingMemory.maxGenerations - 1) * 100)
        #expect(sure.allSatisfy { kept.contains(.session($0.key)) })
    }

    @Test("The second news of an ending takes no second place, also when the next generation has begun")
    func toldTwice() {
        let memory = self.memory(capacity: 10)
        let old = self.holder()
        self.pass(.seconds(1))
        for _ in 1..<EndingMemory.maxGenerations {
            let ended = (0..<10).map { _ in self.holder() }
            for holder in ended { memory.note(.session(holder.key)) }
            self.pass(.seconds(5))
            for holder in ended { memory.note(.session(holder.key)) }
        }
        #expect(memory.beginReign().count == (EndingMemory.maxGenerations - 1) * 10)
        #expect(!self.hasEnded(old, in: memory))
        let subject = EndingMemory.Ending.subject("name of bob", epoch: 7)
        memory.note(subject)
        memory.note(.subject("name of bob", epoch: 6))
        #expect(memory.epoch(of: "name of bob") == 7)
        memory.note(.subject("name of bob", epoch: 8))
        #expect(memory.epoch(of: "name of bob") == 8)
    }

    @Test("An ending is dropped after half an hour at the latest, where others come")
    func dropped() {
        let memory = self.memory(capacity: 10)
        let first = self.holder()
        memory.note(.session(first.key))
        self.pass(EndingMemory.span)
        memory.note(.session(self.holder().key))
        self.pass(.seconds(800))
        for _ in 0..<12 { memory.note(.session(self.holder().key)) }
        #expect(self.hasEnded(first, in: memory))
        self.pass(.seconds(100))
        memory.note(.session(self.holder().key))
        #expect(!self.hasEnded(first, in: memory))
    }

    @Test("Endings that were dropped long ago end nothing")
    func fullLongAgo() {
        let memory = self.memory(capacity: 10)
        let old = self.holder()
        self.pass(.seconds(1))
        for _ in 0...10 * EndingMemory.maxGenerations { memory.note(.session(self.holder().key)) }
        self.pass(EndingMemory.span)
        _ = memory.beginReign()
        #expect(!self.hasEnded(old, in: memory))
    }

    @Test("An ending that is reported twice takes one place")
    func twice() {
        let memory = self.memory(capacity: 10)
        let holder = self.holder()
        for _ in 0..<100 { memory.note(.session(holder.key)) }
        #expect(memory.beginReign() == [.session(holder.key)])
    }
}
