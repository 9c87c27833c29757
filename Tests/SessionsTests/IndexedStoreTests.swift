import NIOPosix
import Sessions
import StoreBench
import StoreConformance
import Testing
import Vocabulary

@Suite("The store with an index") struct IndexedStoreTests {
    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    /// A memory store under the index, which gateways use above Redis.
    private var harness: StoreHarness {
        StoreHarness(group: Self.group) { room, clock in
            IndexedStore(
                MemoryStore(
                    maxSessions: room.sessions,
                    maxMarkers: room.markers,
                    clock: clock.clock,
                    caches: SessionCaches()
                ),
                authority: TokenAuthority(secret: Secret("a secret of at least thirty-two bytes, for tests")),
                clock: clock.clock
            )
        }
    }

    @Test("A store with an index conforms like the one below it", arguments: StoreConformance.cases)
    func conforms(_ behaviour: StoreConformance) async throws {
        try await behaviour.run(self.harness)
    }
}
