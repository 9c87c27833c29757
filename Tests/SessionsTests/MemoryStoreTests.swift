import NIOCore
import NIOPosix
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

@Suite struct MemoryStoreTests {
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)

    private var harness: StoreHarness {
        StoreHarness(group: Self.group) { room, clock in
            MemoryStore(
                maxSessions: room.sessions,
                maxMarkers: room.markers,
                clock: clock.clock,
                caches: SessionCaches()
            )
        }
    }

    @Test("The memory store conforms", arguments: StoreConformance.cases + StoreConformance.boundedCases)
    func conforms(_ behaviour: StoreConformance) async throws {
        try await behaviour.run(self.harness)
    }

    @Test("A sweep removes expired records and keeps live ones")
    func sweep() throws {
        let fixture = MemoryFixture()
        for index in 0..<500 { try fixture.signIn(subject: "user \(index)", life: .seconds(60)) }
        let kept = try fixture.signIn(subject: "kept", life: .seconds(600))
        #expect(fixture.store.sessionCount == 501)
        fixture.clock.advance(by: .seconds(60))
        fixture.store.sweep()
        #expect(fixture.store.sessionCount == 1)
        #expect(try fixture.session(kept) != nil)
    }

    @Test("Writing removes expired records without a sweep")
    func amortised() throws {
        let fixture = MemoryFixture()
        for round in 0..<20 {
            for index in 0..<200 { try fixture.signIn(subject: "\(round).\(index)", life: .seconds(60)) }
            fixture.clock.advance(by: .seconds(60))
        }
        #expect(fixture.store.sessionCount < 800)
    }

    @Test("Repeated sign-in and sign-out leaves nothing behind")
    func churn() throws {
        let fixture = MemoryFixture(maxSessions: 10, maxMarkers: 10)
        for _ in 0..<2000 {
            let key = try fixture.signIn(subject: "alice", life: .seconds(7_776_000))
            try fixture.store.end(key.lineage, on: fixture.loop).wait()
        }
        #expect(fixture.store.sessionCount == 0)
        // An end beyond the bound on remembered ends is also remembered, but for a shorter time.
        let key = try fixture.signIn(subject: "alice")
        try fixture.store.end(key.lineage, on: fixture.loop).wait()
        fixture.clock.advance(by: .seconds(299))
        let late = try fixture.signIn(subject: "alice", lineage: key.lineage)
        #expect(try fixture.session(late) == nil)
    }

    @Test("Markers and unused tokens are counted together, and their room is given back")
    func markerCount() throws {
        let fixture = MemoryFixture()
        let key = try fixture.signIn(subject: "alice")
        let parent = try #require(try fixture.session(key))
        let used = try fixture.mint(from: parent.record, key: key)
        _ = try fixture.mint(from: parent.record, key: key)
        let lookup = try fixture.store.singleUse(used, as: TransferToken.self, on: fixture.loop).wait()
        guard case .live(let stored) = lookup else {
            Issue.record("a minted token is not live")
            return
        }
        let marker = Marker.burned(fixture.authority.newAttempt(), .handoffExpired)
        let answer = try fixture.store
            .consume(used, judged: stored.version, marker: marker, creating: nil, on: fixture.loop).wait()
        #expect(answer == .done)
        #expect(fixture.store.markerCount == 2)
        fixture.clock.advance(by: .seconds(60))
        fixture.store.sweep()
        #expect(fixture.store.markerCount == 1)
        fixture.clock.advance(by: .seconds(3600))
        fixture.store.sweep()
        #expect(fixture.store.markerCount == 0)
    }
}
