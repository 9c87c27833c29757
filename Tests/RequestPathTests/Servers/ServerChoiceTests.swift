import RequestPath
import Settings
import Testing

/// Which server of an app gets a request, by distribution.
@Suite struct ServerChoiceTests {
    private static func loads(_ weights: [Int]) -> [ServerLoad] {
        weights.enumerated().map { index, weight in
            ServerLoad(share: weight, hash: StickyKey.hash("http://app-\(index)".utf8))
        }
    }

    /// How often each server is chosen for these keys.
    private static func counts(
        _ balance: ServerBalance,
        _ loads: inout [ServerLoad],
        keys: Range<UInt64> = 0..<10_000
    ) -> [Int] {
        var choice = ServerChoice(balance, seed: 7)
        var counts = [Int](repeating: 0, count: loads.count)
        for key in keys {
            if let place = choice.choose(&loads, key: StickyKey.hash("\(key)".utf8)) { counts[place] += 1 }
        }
        return counts
    }

    @Test(arguments: ServerBalance.allCases) func weightsAreShares(_ balance: ServerBalance) {
        var loads = Self.loads([1, 2, 5])
        let counts = Self.counts(balance, &loads)
        for (count, expected) in zip(counts, [1250, 2500, 6250]) { #expect(abs(count - expected) < 250, "\(counts)") }
    }

    @Test(arguments: ServerBalance.allCases) func onlyAvailableServersAreChosen(_ balance: ServerBalance) {
        var loads = Self.loads([1, 1, 1])
        loads[1].isAvailable = false
        let counts = Self.counts(balance, &loads)
        #expect(counts[1] == 0 && counts[0] + counts[2] == 10_000)
        #expect(abs(counts[0] - 5000) < 300, "\(counts)")
        for place in loads.indices { loads[place].isAvailable = false }
        #expect(Self.counts(balance, &loads) == [0, 0, 0])
        loads[2].isAvailable = true
        #expect(Self.counts(balance, &loads) == [0, 0, 10_000])
    }

    /// One server is five times as fast. As many requests as always are in flight: the one that is done is the next one.
    @Test func theFasterServerGetsMore() {
        var loads = Self.loads([1, 1])
        var choice = ServerChoice(.leastRequests, seed: 3)
        let duration = [5, 25]
        var running: [(end: Int, place: Int)] = []
        var counts = [0, 0]
        var now = 0
        for _ in 0..<6000 {
            if running.count == 24, let next = running.indices.min(by: { running[$0].end < running[$1].end }) {
                let done = running.remove(at: next)
                now = max(now, done.end)
                loads[done.place].inFlight -= 1
            }
            guard let place = choice.choose(&loads, key: 0) else { continue }
            counts[place] += 1
            loads[place].inFlight += 1
            // A server works on all at once, each the slower the more there are.
            running.append((now + duration[place] * loads[place].inFlight, place))
        }
        let ratio = Double(counts[0]) / Double(counts[1])
        #expect(ratio > 4.25 && ratio < 5.75, "\(counts)")
    }

    @Test func pairsAreOfDifferentServersAndAllAsLikely() {
        var choice = ServerChoice(.leastRequests, seed: 7)
        for count in [2, 3, 5] {
            var counts: [[Int]: Int] = [:]
            for _ in 0..<20_000 {
                let (one, other) = choice.pair(below: count)
                counts[[one, other], default: 0] += 1
            }
            let expected = 20_000 / (count * (count - 1))
            #expect(counts.count == count * (count - 1))
            #expect(counts.keys.allSatisfy { $0[0] != $0[1] && $0.allSatisfy { (0..<count).contains($0) } })
            #expect(counts.values.allSatisfy { abs($0 - expected) < expected / 5 }, "\(counts)")
        }
    }

    @Test func turnsAreSpread() {
        var loads = Self.loads([3, 1])
        var choice = ServerChoice(.roundRobin, seed: 0)
        #expect((0..<8).compactMap { _ in choice.choose(&loads, key: 0) } == [0, 0, 1, 0, 0, 0, 1, 0])
    }

    /// Every gateway chooses the same, whatever its seed is; if a server goes, only its sessions move, and they come back.
    @Test func aKeyStaysWithItsServer() {
        var loads = Self.loads([1, 1, 2])
        func places(_ seed: UInt64) -> [Int?] {
            var choice = ServerChoice(.sticky, seed: seed)
            return (0..<1000).map { choice.choose(&loads, key: StickyKey.hash("ses_\($0)".utf8)) }
        }
        let first = places(1)
        #expect(places(2) == first)
        loads[1].isAvailable = false
        let without = places(1)
        for (before, after) in zip(first, without) { #expect(before == 1 || before == after) }
        #expect(!without.contains(1) && first.contains(1))
        loads[1].isAvailable = true
        loads[1].inFlight = 1000
        #expect(places(3) == first)
    }

    /// A gateway of another version must choose the same.
    @Test func hashesStayAsTheyAre() {
        #expect(StickyKey.hash("http://app-1:3000".utf8) == 0x6CC4_124B_1687_46A9)
    }
}
