import NIOCore
import NIOPosix
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

@Suite struct MemoryStoreTests {
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 4)

    private var bench: ConformanceBench {
        ConformanceBench(group: Self.group) { room, clock in
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
        try await behaviour.run(self.bench)
    }

    @Test("A sweep removes expired records and keeps live ones")
    func sweep() throws {
        let bench = MemoryBench()
        for index in 0..<500 { try bench.signIn(subject: "user \(index)", life: .seconds(60)) }
        let kept = try bench.signIn(subject: "kept", life: .seconds(600))
        #expect(bench.store.sessionCount == 501)
        bench.clock.advance(by: .seconds(60))
        bench.store.sweep()
        #expect(bench.store.sessionCount == 1)
        #expect(try bench.session(kept) != nil)
    }

    @Test("Writing removes expired records without a sweep")
    func amortised() throws {
        let bench = MemoryBench()
        for round in 0..<20 {
            for index in 0..<200 { try bench.signIn(subject: "\(round).\(index)", life: .seconds(60)) }
            bench.clock.advance(by: .seconds(60))
        }
        #expect(bench.store.sessionCount < 800)
    }

    @Test("Repeated sign-in and sign-out leaves nothing behind")
    func churn() throws {
        let bench = MemoryBench(maxSessions: 10, maxMarkers: 10)
        for _ in 0..<2000 {
            let key = try bench.signIn(subject: "alice", life: .seconds(7_776_000))
            try bench.store.end(key.lineage, on: bench.loop).wait()
        }
        #expect(bench.store.sessionCount == 0)
        // An end beyond the bound on remembered ends is also remembered, but for a shorter time.
        let key = try bench.signIn(subject: "alice")
        try bench.store.end(key.lineage, on: bench.loop).wait()
        bench.clock.advance(by: .seconds(299))
        let late = try bench.signIn(subject: "alice", lineage: key.lineage)
        #expect(try bench.session(late) == nil)
    }

    @Test("Markers and unused tokens are counted together, and their room is given back")
    func markerCount() throws {
        let bench = MemoryBench()
        let key = try bench.signIn(subject: "alice")
        let parent = try #require(try bench.session(key))
        let used = try bench.mint(from: parent.record, key: key)
        _ = try bench.mint(from: parent.record, key: key)
        let lookup = try bench.store.singleUse(used, as: TransferToken.self, on: bench.loop).wait()
        guard case .live(let stored) = lookup else {
            Issue.record("a minted token is not live")
            return
        }
        let marker = Marker.burned(bench.authority.newAttempt(), .handoffExpired)
        let answer = try bench.store
            .consume(used, judged: stored.version, marker: marker, creating: nil, on: bench.loop).wait()
        #expect(answer == .done)
        #expect(bench.store.markerCount == 2)
        bench.clock.advance(by: .seconds(60))
        bench.store.sweep()
        #expect(bench.store.markerCount == 1)
        bench.clock.advance(by: .seconds(3600))
        bench.store.sweep()
        #expect(bench.store.markerCount == 0)
    }
}
