import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// The sessions of open streams are read again after invalidations may have been missed.
@Suite struct StreamSessionsTests {
    /// The streams of one loop, which are checked four times a second, as the sweep does.
    private final class Streams {
        let bench = ResolverBench(capacity: 32_768)
        let sessions: StreamSessions
        /// The entry of each stream.
        var open: [CachedSession] = []
        private(set) var gone: [RecordKey] = []
        private(set) var unreadable: [RecordKey] = []

        init() {
            self.sessions = StreamSessions(
                loop: self.bench.loop,
                resolver: self.bench.resolver,
                clock: self.bench.clock.clock
            )
            self.sessions.onGone = { [unowned self] key in
                self.gone.append(key)
                self.open.removeAll { $0.key == key }
            }
            self.sessions.onUnreadable = { [unowned self] key in
                self.unreadable.append(key)
                self.open.removeAll { $0.key == key }
            }
        }

        /// Opens a stream with a session that this loop has just read.
        @discardableResult
        func begin(subject: String = "alice", idle: Duration = .seconds(3600)) throws -> ResolverBench.Holder {
            let holder = self.bench.holder(subject: subject, idle: idle)
            self.bench.warm(holder)
            self.open.append(try #require(self.bench.resolve(holder.token).entry))
            return holder
        }

        func sweep() {
            for entry in self.open { self.sessions.check(entry, now: self.bench.clock.now) }
        }

        /// Advances the loop and the clock without a sweep.
        func pass(_ milliseconds: Int64) {
            self.bench.clock.advance(by: .milliseconds(milliseconds))
            self.bench.loop.advanceTime(by: .milliseconds(milliseconds))
        }

        /// Advances the time with four sweeps a second; returns the number of reads.
        func reads(inSeconds seconds: Int, answering: (Streams) -> Void) -> Int {
            var count = 0
            for _ in 0..<(4 * seconds) {
                self.sweep()
                self.pass(250)
                let waiting = self.bench.store.waiting
                count += waiting
                for _ in 0..<waiting { answering(self) }
            }
            return count
        }
    }

    private let streams = Streams()
    private var bench: ResolverBench { self.streams.bench }

    @Test("While no invalidation can have been missed, no session is read")
    func quiet() throws {
        try self.streams.begin()
        #expect(self.streams.reads(inSeconds: 20) { _ in } == 0)
    }

    @Test(
        "After a doubt and after a reload each session is read once, and those that have ended are reported",
        arguments: [0, 1]
    )
    func afterDoubt(_ way: Int) throws {
        let (alice, bob) = (try self.streams.begin(subject: "alice"), try self.streams.begin(subject: "bob"))
        if way == 0 {
            self.bench.caches.doubt()
            self.streams.sweep()
            self.streams.pass(100)
            #expect(self.bench.store.waiting == 0, "a doubt that has just begun may be over soon")
            self.bench.caches.trust()
        } else {
            self.bench.cache.invalidate(.all)
        }
        self.streams.sweep()
        self.streams.pass(100)
        #expect(self.bench.store.waiting == 2)
        self.bench.answer(alice.session)
        self.bench.answer(nil)
        #expect(self.streams.gone == [bob.key])
        #expect(self.streams.reads(inSeconds: 5) { _ in } == 0)
        #expect(self.streams.open.map(\.key) == [alice.key])
    }

    @Test("A session whose record changed is read once, and one that expired is gone")
    func changedAndExpired() throws {
        let changed = try self.streams.begin()
        let expiring = self.bench.holder(subject: "bob", life: .seconds(20))
        self.bench.warm(expiring)
        self.streams.open.append(try #require(self.bench.resolve(expiring.token).entry))
        self.bench.cache.invalidate(.sessionRecord(changed.key))
        self.streams.sweep()
        self.streams.pass(100)
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(changed.session, version: 2)
        #expect(self.streams.reads(inSeconds: 19) { _ in } == 0)
        #expect(self.streams.reads(inSeconds: 2) { $0.bench.answer(nil) } == 1)
        #expect(self.streams.gone == [expiring.key])
    }

    @Test("Ten thousand streams of one session cause one read")
    func oneSession() throws {
        let holder = try self.streams.begin()
        self.streams.open = Array(repeating: self.streams.open[0], count: 10_000)
        self.bench.cache.invalidate(.all)
        self.streams.sweep()
        self.streams.sweep()
        self.streams.pass(600)
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(nil)
        #expect(self.streams.gone == [holder.key])
    }

    @Test("The reads for ten thousand sessions are spread over half a second, a few hundred at a time")
    func spread() throws {
        for index in 0..<10_000 { try self.streams.begin(subject: "user \(index)") }
        self.bench.caches.doubt()
        self.bench.caches.trust()
        self.streams.sweep()
        var (before, largest) = (0, 0)
        for step in 0..<50 {
            if step % 25 == 24 { self.streams.sweep() }
            self.streams.pass(10)
            largest = max(largest, self.bench.store.waiting - before)
            before = self.bench.store.waiting
        }
        #expect(before == 10_000)
        #expect(largest <= 500)
    }

    @Test("If the store cannot answer for 30 s, the streams whose sessions cannot be read are closed")
    func unreadable() throws {
        let (alice, bob) = (try self.streams.begin(subject: "alice"), try self.streams.begin(subject: "bob"))
        self.bench.cache.invalidate(.all)
        func fail(forSeconds seconds: Int) -> Int { self.streams.reads(inSeconds: seconds) { $0.bench.fail() } }
        #expect(fail(forSeconds: 20) > 15)
        // A request reads one of the sessions, and for that one the 30 s begin again.
        self.bench.warm(bob)
        _ = fail(forSeconds: 3)
        self.bench.cache.invalidate(.all)
        _ = fail(forSeconds: 6)
        #expect(self.streams.unreadable.isEmpty)
        _ = fail(forSeconds: 3)
        #expect(self.streams.unreadable == [alice.key])
        _ = fail(forSeconds: 18)
        #expect(self.streams.unreadable == [alice.key])
        _ = fail(forSeconds: 6)
        #expect(self.streams.unreadable == [alice.key, bob.key])
        #expect(self.streams.gone.isEmpty)
    }

    @Test(
        "If the store cannot answer for a shorter time, no stream ends, and the store is asked at intervals until it answers"
    )
    func unavailable() throws {
        let holder = try self.streams.begin()
        self.bench.cache.invalidate(.all)
        let asked = self.streams.reads(inSeconds: 30) { $0.bench.fail() }
        #expect((20...31).contains(asked), "about once a second")
        #expect(self.streams.gone.isEmpty)
        #expect(self.streams.reads(inSeconds: 2) { $0.bench.answer(nil) } == 1)
        #expect(self.streams.gone == [holder.key])
    }

    @Test("During a doubt, the sessions of streams are read as often as an entry may be old")
    func longDoubt() throws {
        let holder = try self.streams.begin()
        self.bench.caches.doubt()
        #expect((3...4).contains(self.streams.reads(inSeconds: 20) { $0.bench.answer(holder.session) }))
        #expect(self.streams.reads(inSeconds: 6) { $0.bench.answer(nil) } == 1)
        #expect(self.streams.gone == [holder.key])
    }

    @Test("A session that idles out during a stream is noticed within a minute or a tenth of its idle lifetime")
    func idle() throws {
        let (slow, quick) = (try self.streams.begin(), try self.streams.begin(subject: "bob", idle: .seconds(100)))
        var asked: [RecordKey] = []
        let reads = self.streams.reads(inSeconds: 59) { streams in
            guard let read = streams.bench.store.takeRead() else { return }
            asked.append(read.key)
            read.answer.succeed(Stored(record: quick.session, version: RecordVersion(value: 1)))
            streams.bench.loop.run()
        }
        #expect(reads == 5 && Set(asked) == [quick.key])
        #expect(self.streams.reads(inSeconds: 12) { $0.bench.answer(nil) } == 2)
        #expect(Set(self.streams.gone) == [slow.key, quick.key])
    }

    @Test("Such a read does not count as a use of the session, and is shared with requests")
    func noUse() throws {
        let holder = try self.streams.begin(idle: .seconds(10))
        self.streams.pass(5000)
        let misses = self.bench.cache.counters.misses
        self.bench.cache.invalidate(.all)
        self.streams.sweep()
        self.streams.pass(20)
        #expect(self.bench.store.waiting == 1)
        #expect(self.bench.store.touches.isEmpty && self.bench.cache.counters.misses == misses)
        let request = self.bench.resolve(holder.token)
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(holder.session)
        #expect(request.outcome == .found("alice"))
        #expect(self.bench.store.touches == [holder.key], "the request's")
    }

    @Test("If a request has already read a stream's session again, no further read is made")
    func knownAlready() throws {
        let holder = try self.streams.begin()
        self.bench.cache.invalidate(.all)
        self.bench.warm(holder)
        #expect(self.streams.reads(inSeconds: 10) { _ in } == 0)
    }

    @Test("An answer from before another doubt does not count: the session is read once more")
    func overtaken() throws {
        let holder = try self.streams.begin()
        self.bench.cache.invalidate(.all)
        self.streams.sweep()
        self.streams.pass(20)
        self.bench.caches.doubt()
        self.bench.caches.trust()
        self.bench.answer(holder.session)
        #expect(self.streams.reads(inSeconds: 5) { $0.bench.answer(holder.session) } == 1)
        #expect(self.streams.gone.isEmpty)
    }

    @Test("The session of a stream that was permitted by a doubted entry is read when the doubt ends")
    func permittedInDoubt() throws {
        let holder = try self.streams.begin()
        self.streams.open = []
        self.bench.caches.doubt()
        let request = self.bench.resolve(holder.token)
        self.bench.fail()
        self.streams.open = [try #require(request.entry)]
        self.bench.caches.trust()
        #expect(self.streams.reads(inSeconds: 1) { $0.bench.answer(nil) } == 1)
        #expect(self.streams.gone == [holder.key])
    }

    @Test("The session of a stream that was permitted by a read from before the end of a doubt is also read again")
    func permittedByOvertakenRead() throws {
        let holder = self.bench.holder()
        self.bench.caches.doubt()
        let request = self.bench.resolve(holder.token)
        self.bench.caches.trust()
        self.bench.answer(holder.session)
        self.streams.open = [try #require(request.entry)]
        #expect(self.streams.reads(inSeconds: 1) { $0.bench.answer(nil) } == 1)
        #expect(self.streams.gone == [holder.key])
    }
}
