import AddressIntelligence
import HandoffProof
import NIOPosix
import Sessions
import StoreBench
import TestSupport
import Testing

@Suite("The handoff and its model over the memory store")
struct HandoffProofTests {
    /// The walks of one test case.
    private static let shard = 1250

    private static func bench() throws -> HandoffWalkBench {
        let clock = MovableClock()
        let store = ScriptedStore(clock: clock.clock, room: 200_000)
        let file = try TemporaryFile(Place.networks)
        defer { file.remove() }
        return HandoffWalkBench(
            [store, store],
            clock: clock,
            networks: try ASNDirectory.open(csv: file.path),
            loops: MultiThreadedEventLoopGroup.singleton,
            tricks: StoreTricks(
                quarantine: { isOn in store.change { $0.consumptions = isOn ? [.quarantined] : [] } },
                loseAnswer: { isOn in store.change { $0.lostAnswers = isOn ? 1 : 0 } }
            )
        )
    }

    @Test(
        "Ten thousand walks of mints, uses, confirmations, replays, sign-outs, lost answers and failovers go as in the model",
        arguments: 0..<8
    )
    func walks(shard: Int) async throws {
        let bench = try Self.bench()
        for number in 0..<Self.shard {
            try await HandoffWalk.run(seed: UInt64(shard * Self.shard + number), on: bench)
        }
    }

    @Test("Tabs of a browser that keeps its session get the same new token, whichever comes first")
    func tabs() async throws {
        let bench = try Self.bench()
        for number in 0..<500 { try await HandoffTabs.run(number: number, on: bench) }
    }

    @Test("Every cell of the outcome matrix is as in the model", arguments: 0..<4)
    func matrix(shard: Int) async throws {
        let bench = try Self.bench()
        #expect(HandoffMatrix.cells.count == 10_000)
        for (number, cell) in HandoffMatrix.cells.enumerated() where number % 4 == shard {
            try await HandoffMatrix.run(cell, number: number, on: bench)
        }
    }
}
