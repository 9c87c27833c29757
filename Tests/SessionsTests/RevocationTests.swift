import NIOCore
import NIOPosix
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

/// Four loops, each with its own resolver, over one memory store.
private final class Gateway: Sendable {
    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)

    struct Bench: Sendable {
        let loop: any EventLoop
        let resolver: NIOLoopBound<SessionResolver>
    }

    let clock = MovableClock()
    let caches = SessionCaches()
    let store: MemoryStore
    let benches: [Bench]

    init() async throws {
        let store = MemoryStore(
            maxSessions: 100_000,
            maxMarkers: 100_000,
            clock: self.clock.clock,
            caches: self.caches
        )
        let (caches, clock) = (self.caches, self.clock.clock)
        var benches: [Bench] = []
        for loop in Self.group.makeIterator() {
            let resolver = try await loop.submit {
                let cache = SessionCache(capacity: 1024)
                caches.register(cache, on: loop)
                let resolver = SessionResolver(
                    loop: loop,
                    cache: cache,
                    store: store,
                    authority: testAuthority,
                    clock: clock
                )
                return NIOLoopBound(resolver, eventLoop: loop)
            }.get()
            benches.append(Bench(loop: loop, resolver: resolver))
        }
        self.store = store
        self.benches = benches
    }

    func signIn(subject: String, lineage: Lineage) async throws -> (token: Secret, key: RecordKey) {
        let made = testAuthority.make(.session, in: lineage)
        let session = makeSession(subject: subject, lineage: lineage, now: self.clock.now)
        let loop = self.benches[0].loop
        try await self.store.create(NewSession(key: made.key, session: session), on: loop).get()
        return made
    }

    /// The number of loops on which the token has a session, and how many of these did not ask the store.
    func known(_ token: Secret) async throws -> (live: Int, hits: Int) {
        let now = self.clock.now
        var known = (live: 0, hits: 0)
        for bench in self.benches {
            let answer = try await bench.loop.flatSubmit {
                switch token.bytes.withUnsafeBytes({ bench.resolver.value.resolve(.native, token: $0, now: now) }) {
                case .hit: return bench.loop.makeSucceededFuture((live: true, hit: true))
                case .otherKind, .otherKey, .malformed: return bench.loop.makeSucceededFuture((live: false, hit: false))
                case .miss(let read):
                    return read.future.assumeIsolated().map { (live: $0 != nil, hit: false) }.nonisolated()
                }
            }.get()
            if answer.live { known.live += 1 }
            if answer.hit { known.hits += 1 }
        }
        return known
    }
}

@Suite struct RevocationTests {
    @Test("After an end is answered, no loop serves the session", arguments: ["session", "lineage", "subject"])
    func seenByEveryLoop(_ way: String) async throws {
        let gateway = try await Gateway()
        for round in 0..<25 {
            let lineage = testAuthority.newLineage()
            let made = try await gateway.signIn(subject: "alice", lineage: lineage)
            let bystander = try await gateway.signIn(subject: "bob", lineage: testAuthority.newLineage())
            _ = try await gateway.known(bystander.token)
            #expect(try await gateway.known(made.token).live == 4)
            #expect(try await gateway.known(made.token).hits == 4)
            let loop = gateway.benches[round % 4].loop
            switch way {
            case "session": #expect(try await gateway.store.end(made.key, on: loop).get())
            case "lineage": try await gateway.store.end(lineage, on: loop).get()
            default: try await gateway.store.end(subject: "alice", on: loop).get()
            }
            #expect(try await gateway.known(made.token) == (live: 0, hits: 0))
            #expect(try await gateway.known(bystander.token).hits == 4)
        }
    }

    @Test("CVE-2020-15223: an end is not answered before every loop has confirmed it")
    func waitsForEveryLoop() async throws {
        let gateway = try await Gateway()
        let made = try await gateway.signIn(subject: "alice", lineage: testAuthority.newLineage())
        _ = try await gateway.known(made.token)
        let (blocked, asked) = (gateway.benches[3], gateway.benches[0])
        // The last loop is blocked until the test releases it, so its cache cannot be told earlier.
        let gate = Gate()
        blocked.loop.execute { gate.wait() }
        let answered = Flag()
        let end = asked.loop.flatSubmit { gateway.store.end(made.key, on: asked.loop) }
        end.whenComplete { _ in answered.raise() }
        // After the other loops have had their turns, only the blocked loop's confirmation is missing.
        for _ in 0..<3 {
            for bench in gateway.benches.dropLast() { try await bench.loop.submit {}.get() }
        }
        #expect(!answered.isRaised)
        gate.open()
        #expect(try await end.get())
        #expect(try await gateway.known(made.token).live == 0)
    }

    @Test("A reload empties every loop's table, and the sessions live on")
    func reload() async throws {
        let gateway = try await Gateway()
        let made = try await gateway.signIn(subject: "alice", lineage: testAuthority.newLineage())
        _ = try await gateway.known(made.token)
        #expect(try await gateway.caches.counters(on: gateway.benches[0].loop).get().entries == 4)
        try await gateway.caches.invalidate(.all, on: gateway.benches[0].loop).get()
        #expect(try await gateway.caches.counters(on: gateway.benches[0].loop).get().entries == 0)
        #expect(try await gateway.known(made.token) == (live: 4, hits: 0))
        let counters = try await gateway.caches.counters(on: gateway.benches[0].loop).get()
        #expect(counters.misses == 8)
        #expect(counters.hits == 0)
    }

    @Test("A doubt reaches every loop and is counted once; after it, every loop reads once and trusts again")
    func doubt() async throws {
        let gateway = try await Gateway()
        let made = try await gateway.signIn(subject: "alice", lineage: testAuthority.newLineage())
        _ = try await gateway.known(made.token)
        #expect(try await gateway.known(made.token) == (live: 4, hits: 4))
        for _ in 0..<3 { gateway.caches.doubt() }
        #expect(gateway.caches.isDoubting)
        #expect(try await gateway.known(made.token) == (live: 4, hits: 0))
        #expect(try await gateway.known(made.token) == (live: 4, hits: 0))
        for _ in 0..<3 { gateway.caches.trust() }
        #expect(!gateway.caches.isDoubting)
        #expect(try await gateway.known(made.token) == (live: 4, hits: 0))
        #expect(try await gateway.known(made.token) == (live: 4, hits: 4))
        #expect(try await gateway.caches.counters(on: gateway.benches[0].loop).get().doubts == 1)
    }

    @Test("A loop that learns of the end of a doubt before its beginning does not stay in doubt")
    func doubtHeardLate() async throws {
        let gateway = try await Gateway()
        let made = try await gateway.signIn(subject: "alice", lineage: testAuthority.newLineage())
        _ = try await gateway.known(made.token)
        let gate = Gate()
        let caches = gateway.caches
        // The loop itself ends the doubt. The notice that the doubt has begun is queued behind this.
        gateway.benches[2].loop.execute {
            gate.wait()
            caches.trust()
        }
        caches.doubt()
        gate.open()
        for bench in gateway.benches { try await bench.loop.submit {}.get() }
        #expect(!caches.isDoubting)
        #expect(try await gateway.known(made.token) == (live: 4, hits: 0))
        #expect(try await gateway.known(made.token) == (live: 4, hits: 4))
    }
}
