import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import StoreConformance
import Synchronization
import Testing
import Vocabulary

@Suite struct SessionResolverTests {
    private let bench = ResolverBench()

    @Test("A miss asks the store once; after that the session is in the loop's cache")
    func missThenHit() {
        let holder = self.bench.holder()
        let first = self.bench.resolve(holder.token)
        #expect(first.outcome == .waiting)
        self.bench.answer(holder.session)
        #expect(first.outcome == .found("alice"))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        #expect(self.bench.store.waiting == 0)
        #expect(self.bench.cache.counters.hits == 1)
        #expect(self.bench.cache.counters.misses == 1)
    }

    @Test("F29: Requests that miss at the same time share one read")
    func singleFlight() {
        let holder = self.bench.holder()
        let waiters = (0..<50).map { _ in self.bench.resolve(holder.token) }
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(holder.session)
        #expect(waiters.allSatisfy { $0.outcome == .found("alice") })
        #expect(self.bench.store.waiting == 0)
    }

    @Test("Of requests that share one read, none goes on with a session that an earlier one of them has ended")
    func endedByFirst() {
        let holder = self.bench.holder()
        let resolution = holder.token.bytes.withUnsafeBytes {
            self.bench.resolver.resolve(.native, token: $0, now: self.bench.clock.now)
        }
        guard case .miss(let read) = resolution else { return #expect(Bool(false), "\(resolution)") }
        read.whenFound { _ in self.bench.cache.invalidate(.session(holder.key)) }
        let second = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(second.outcome == .noSession)
    }

    @Test("No token gets the answer to another token's read (CVE-2026-71326)")
    func flightsOfTwoTokens() {
        let alice = self.bench.holder(subject: "alice")
        var changed = alice.token.bytes
        changed[58] = changed[58] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let one = self.bench.resolve(alice.token)
        let other = self.bench.resolve(changed)
        #expect(self.bench.store.waiting == 2)
        self.bench.answer(alice.session)
        #expect(one.outcome == .found("alice"))
        #expect(other.outcome == .waiting)
        self.bench.answer(nil)
        #expect(other.outcome == .noSession)
        #expect(self.bench.resolve(changed).outcome == .waiting)
    }

    @Test("The absence of a session is not remembered")
    func negative() {
        let holder = self.bench.holder()
        let early = self.bench.resolve(holder.token)
        self.bench.answer(nil)
        #expect(early.outcome == .noSession)
        let late = self.bench.resolve(holder.token)
        #expect(late.outcome == .waiting)
        self.bench.answer(holder.session)
        #expect(late.outcome == .found("alice"))
    }

    @Test("A store that cannot answer is unavailable, never 'no session', and is asked again")
    func unavailable() {
        struct Other: Error {}
        let holder = self.bench.holder()
        for error in [StoreError.unavailable, Other()] as [any Error] {
            let pending = self.bench.resolve(holder.token)
            self.bench.fail(error)
            #expect(pending.outcome == .failed(.unavailable))
        }
        let pending = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
    }

    @Test("A session whose user is gone is none, also while the store is away, until the user is back")
    func lostUser() {
        struct Directory: UserDirectory {
            var lost: String
            func hasLostUser(of session: Session) -> Bool { session.subject == self.lost }
        }
        let holder = self.bench.holder(subject: "alice")
        let first = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(first.outcome == .found("alice"))
        self.bench.resolver.parties.directory = Directory(lost: "alice")
        self.bench.caches.doubt()
        let away = self.bench.resolve(holder.token)
        self.bench.fail(StoreError.unavailable)
        #expect(away.outcome == .noSession)
        let gone = self.bench.resolve(holder.token)
        #expect(gone.outcome == .waiting)
        self.bench.answer(holder.session)
        #expect(gone.outcome == .noSession && self.bench.cache.counters.entries == 0)
        self.bench.resolver.parties.directory = Directory(lost: "bob")
        let back = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(back.outcome == .found("alice"))
    }

    @Test("A token with the wrong syntax is refused without asking the store (T32)")
    func malformed() {
        for token in oddTokens() {
            #expect(self.bench.resolve(token).outcome == .malformed)
        }
        #expect(self.bench.store.waiting == 0)
        #expect(self.bench.cache.counters.misses == 0)
    }

    @Test(
        "A token from a cookie is not accepted as a bearer token, nor a bearer token from a cookie, whether or not it is cached",
        arguments: [Session.Kind.web, .native]
    )
    func kinds(_ kind: Session.Kind) {
        let other: Session.Kind = kind == .web ? .native : .web
        let holder = self.bench.holder(kind: kind, idle: .seconds(10))
        let wrong = self.bench.resolve(holder.token, as: other)
        let right = self.bench.resolve(holder.token, as: kind)
        self.bench.answer(holder.session)
        #expect(wrong.outcome == .noSession)
        #expect(right.outcome == .found("alice"))
        self.bench.clock.advance(by: .seconds(2))
        #expect(self.bench.resolve(holder.token, as: other).outcome == .noSession)
        #expect(self.bench.store.touches.isEmpty, "the wrong use is no use")
        #expect(self.bench.resolve(holder.token, as: kind).outcome == .hit("alice"))
    }

    @Test("An entry is never served after the session's expiry")
    func expiry() {
        let holder = self.bench.holder(life: .seconds(3))
        self.bench.warm(holder)
        self.bench.clock.advance(by: .milliseconds(2999))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        self.bench.clock.advance(by: .milliseconds(1))
        let pending = self.bench.resolve(holder.token)
        self.bench.answer(nil)
        #expect(pending.outcome == .noSession)
    }

    @Test("An entry that was not confirmed for five seconds is not served, and is read again")
    func hardAge() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(5))
        let pending = self.bench.resolve(holder.token)
        #expect(pending.outcome == .waiting)
        self.bench.fail()
        #expect(pending.outcome == .failed(.unavailable))
        let again = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(again.outcome == .found("alice"))
    }

    @Test("The age of an entry counts from the start of its read")
    func ageOfSlowRead() {
        let holder = self.bench.holder()
        let pending = self.bench.resolve(holder.token)
        self.bench.clock.advance(by: .seconds(3))
        self.bench.answer(holder.session)
        #expect(pending.outcome == .found("alice"))
        self.bench.clock.advance(by: .seconds(2))
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
    }

    @Test("After the clock was set back, entries are read again")
    func clockSetBack() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(-60))
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
    }

    @Test("An entry in use is read again in the background from its fourth second on, and no request waits")
    func refresh() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .milliseconds(3999))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        #expect(self.bench.store.waiting == 0)
        for _ in 0..<10 {
            self.bench.clock.advance(by: .milliseconds(1))
            #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        }
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(holder.session)
        self.bench.clock.advance(by: .milliseconds(3900))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        #expect(self.bench.store.waiting == 0)
        #expect(self.bench.cache.counters.refreshes == 1)
    }

    @Test("A refresh that finds no session removes the entry")
    func refreshFindsNothing() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(4))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        self.bench.answer(nil)
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
    }

    @Test(
        "After a failed refresh the entry is served until it is five seconds old, and the refresh is tried again after a pause"
    )
    func refreshFails() {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .seconds(4))
        for _ in 0..<20 {
            #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
            self.bench.fail()
        }
        #expect(self.bench.cache.counters.refreshes == 1)
        self.bench.clock.advance(by: .milliseconds(250))
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        #expect(self.bench.cache.counters.refreshes == 2)
        self.bench.clock.advance(by: .milliseconds(750))
        #expect(self.bench.resolve(holder.token).outcome == .waiting)
    }

    @Test("A changed identity is seen at the next read, and its prepared bytes are made again (CVE-2021-41230)")
    func changedIdentity() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        let old = try #require(self.bench.resolve(holder.token).entry)
        old.setRendering([1], generation: 1)
        self.bench.clock.advance(by: .seconds(4))
        _ = self.bench.resolve(holder.token)
        var changed = holder.session
        changed.identity.traits = ["groups": ["admins"]]
        self.bench.answer(changed, version: 2)
        let new = try #require(self.bench.resolve(holder.token).entry)
        #expect(new.session == changed)
        #expect(new.rendering(generation: 1) == nil)
    }

    @Test("A read of the same record confirms the entry and keeps its prepared bytes")
    func confirmed() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        let old = try #require(self.bench.resolve(holder.token).entry)
        old.setRendering([1], generation: 1)
        self.bench.clock.advance(by: .seconds(10))
        _ = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(self.bench.resolve(holder.token).entry === old)
        #expect(old.rendering(generation: 1) == [1])
    }

    @Test("The end of a session that another device presented is passed on, once the store has ended it")
    func passedOn() throws {
        let keys = EndedKeys()
        self.bench.resolver.parties.onEnd = { new in keys.all.withLock { $0.append(new.key) } }
        let holder = self.bench.holder()
        self.bench.warm(holder)
        let entry = try #require(self.bench.resolve(holder.token).entry)
        for isAway in [true, false] {
            self.bench.store.change { $0.failsEnds = isAway }
            self.bench.resolver.end(entry)
            self.bench.loop.run()
            #expect(keys.all.withLock { $0 } == (isAway ? [] : [holder.key]))
        }
    }

    private final class EndedKeys: Sendable {
        let all = Mutex<[RecordKey]>([])
    }

    @Test("A use is reported at most once per minute or tenth of the idle lifetime", arguments: [3600, 100])
    func touch(_ idle: Int) {
        let holder = self.bench.holder(idle: .seconds(idle))
        let interval = min(60, idle / 10)
        self.bench.warm(holder)
        #expect(self.bench.store.touches.isEmpty, "writing the session was its first use")
        for _ in 0..<(10 * interval) {
            self.bench.clock.advance(by: .seconds(1))
            _ = self.bench.resolve(holder.token)
            self.bench.answer(holder.session)
        }
        #expect(self.bench.store.touches == Array(repeating: holder.key, count: 10))
    }

    @Test("A use that another gateway has reported is not reported again, not even by a table that keeps nothing")
    func touchedElsewhere() {
        for capacity in [0, 16] {
            let bench = ResolverBench(capacity: capacity)
            let holder = bench.holder()
            for _ in 0..<100 {
                // Each read comes over a minute after the session was made, and a second after it was used elsewhere.
                bench.clock.advance(by: .seconds(61))
                _ = bench.resolve(holder.token)
                bench.answer(holder.session, usedAt: bench.clock.now.advanced(by: .seconds(-1)))
            }
            #expect(bench.store.touches.isEmpty)
            bench.clock.advance(by: .seconds(61))
            _ = bench.resolve(holder.token)
            bench.answer(holder.session, usedAt: bench.clock.now.advanced(by: .seconds(-60)))
            #expect(bench.store.touches == [holder.key])
        }
    }
}
