import AddressIntelligence
import HandoffProof
import RedisServers
import RedisStore
import Sessions
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("The handoff and its model over Redis, at two gateways")
struct HandoffProofTests {
    private static func with(_ body: @Sendable (HandoffWalkBench, RedisClient) async throws -> Void) async throws {
        let file = try TemporaryFile(Place.networks)
        defer { file.remove() }
        let networks = try ASNDirectory.open(csv: file.path)
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { first in
                try await withClient(server.configuration()) { second in
                    let clock = MovableClock()
                    let stores = [first, second].map { client in
                        RedisStore(
                            client: client,
                            ring: RedisStoreBench.ring,
                            clock: clock.clock,
                            caches: SessionCaches()
                        )
                    }
                    let bench = HandoffWalkBench(
                        stores,
                        clock: clock,
                        networks: networks,
                        loops: loops,
                        tricks: StoreTricks(pass: { try await first.age(by: $0) })
                    )
                    try await body(bench, first)
                }
            }
        }
    }

    @Test("Random walks of mints, uses, replays, races and sign-outs go as in the model")
    func walks() async throws {
        try await Self.with { bench, client in
            for seed in 20_000..<(isSoak ? 30_000 : 20_200) as Range<UInt64> {
                try await HandoffWalk.run(seed: seed, on: bench)
                // Time passes for every key: few of them, or it takes long.
                _ = try await client.ask("FLUSHALL")
            }
        }
    }

    @Test("Tabs of a browser that keeps its session get the same new token, whichever comes first")
    func tabs() async throws {
        try await Self.with { bench, _ in
            for number in 0..<200 { try await HandoffTabs.run(number: number, on: bench) }
        }
    }

    @Test("Every cell of the outcome matrix is as in the model")
    func matrix() async throws {
        try await Self.with { bench, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        for (number, cell) in HandoffMatrix.cells.enumerated() where number % 16 == worker {
                            try await HandoffMatrix.run(cell, number: number, on: bench)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
