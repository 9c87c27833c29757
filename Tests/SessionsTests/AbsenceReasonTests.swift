import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// What a memory store tells of the ends of sessions, beside what every store does (`StoreConformance`).
@Suite("Ends of sessions in memory") struct AbsenceReasonTests {
    /// The ends by time that were reported.
    private final class Lapses: Sendable {
        private let all = Mutex<[SessionLapse]>([])
        var reasons: [Reason] { self.all.withLock { $0.map(\.reason) } }
        var keys: [RecordKey] { self.all.withLock { $0.map(\.key) } }
        func add(_ lapse: SessionLapse) { self.all.withLock { $0.append(lapse) } }
    }

    private let loop = EmbeddedEventLoop()
    private let clock = MovableClock()
    private let lapses = Lapses()
    private let store: MemoryStore

    init() {
        let lapses = self.lapses
        self.store = MemoryStore(
            maxSessions: 100,
            maxMarkers: 100,
            clock: self.clock.clock,
            caches: SessionCaches(),
            longestSession: .seconds(86_400),
            lapsed: { lapses.add($0) }
        )
    }

    private func signIn(_ subject: String = "alice", life: Duration, idle: Duration) throws -> RecordKey {
        let lineage = testAuthority.newLineage()
        let key = testAuthority.make(.session, in: lineage).key
        let session = makeSession(subject: subject, lineage: lineage, now: self.clock.now, life: life, idle: idle)
        try self.store.create(NewSession(key: key, session: session), on: self.loop).wait()
        return key
    }

    private func reason(_ key: RecordKey) -> Reason? {
        var reason: Reason?
        self.store.session(key, on: self.loop) { result in
            if case .success(.absent(let why)) = result { reason = why }
        }
        return reason
    }

    @Test("An end by time is reported once, by the sweep or by the request that finds it")
    func reported() throws {
        let idle = try self.signIn(life: .seconds(3600), idle: .seconds(60))
        let expired = try self.signIn(life: .seconds(60), idle: .seconds(3600))
        self.clock.advance(by: .seconds(60))
        #expect(self.reason(idle) == .sessionIdle)
        #expect(self.lapses.reasons == [.sessionIdle] && self.lapses.keys == [idle])
        self.store.sweep()
        #expect(self.lapses.reasons == [.sessionIdle, .sessionExpired] && self.lapses.keys == [idle, expired])
        #expect(self.reason(expired) == .sessionExpired)
        self.store.sweep()
        #expect(self.lapses.reasons.count == 2)
    }

    @Test("Sessions that were ended are not reported as ends by time")
    func ended() throws {
        let one = try self.signIn(life: .seconds(60), idle: .seconds(60))
        let all = try self.signIn("bob", life: .seconds(60), idle: .seconds(60))
        try self.store.end(one.lineage, on: self.loop).wait()
        try self.store.end(subject: "bob", on: self.loop).wait()
        self.clock.advance(by: .seconds(61))
        self.store.sweep()
        #expect(self.lapses.reasons.isEmpty)
        #expect(self.reason(one) == .sessionRevoked && self.reason(all) == .sessionRevoked)
    }

    @Test("A token of which the store knows nothing may be from before the restart, for as long as a session may live")
    func forgotten() {
        let key = testAuthority.make(.session, in: testAuthority.newLineage()).key
        #expect(self.reason(key) == .sessionForgotten)
        self.clock.advance(by: .seconds(86_400))
        #expect(self.reason(key) == .sessionUnknown)
    }

    @Test("The oldest ends are forgotten first")
    func bounded() throws {
        // Of one shard, which its lineage chooses.
        let lineage = testAuthority.newLineage()
        var keys: [RecordKey] = []
        for _ in 0..<2049 {
            let key = testAuthority.make(.session, in: lineage).key
            let session = makeSession(lineage: lineage, now: self.clock.now)
            try self.store.create(NewSession(key: key, session: session), on: self.loop).wait()
            _ = try self.store.end(key, on: self.loop).wait()
            keys.append(key)
        }
        #expect(self.reason(keys[0]) == .sessionForgotten)
        #expect(self.reason(keys[1]) == .sessionRevoked)
    }
}
