import GatewayBench
import RedisServers
import Testing

/// Of all who present a token, one at most is signed in, whatever happens to a cluster meanwhile.
@Suite("Exactly once in a cluster", .blocking, .serialized) struct ClusterTrafficTests {
    @Test("Slots that move while tokens are used lose none and let none be used twice")
    func migration() async throws {
        try await RedisCluster.with { cluster in
            let url = RedisURLs.cluster(cluster)
            try await Fleet.with([url, url], logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let traffic = Traffic(fleet)
                try await traffic.waitUntilServed()
                // Slots of what is in use now, moved a few keys at a time, again and again.
                var moved = 0
                for round in 0..<(isSoak ? 30 : 3) {
                    let old = cluster.primaries[round % 3]
                    let new = cluster.primaries[(round + 1) % 3]
                    let slots = Set(try old.keys("sp:s:*").suffix(isSoak ? 5 : 2).map { try cluster.slot(of: $0) })
                    for slot in slots {
                        try cluster.beginMoving(slot, from: old, to: new)
                        while try cluster.moveKeys(2, of: slot, from: old, to: new) > 0 {}
                        try cluster.finishMoving(slot, to: new)
                    }
                    moved += slots.count
                }
                #expect(moved > 0)
                try await traffic.waitUntilServed()
                traffic.stop()
                traffic.replay()
                traffic.report("\(moved) slots moved")
                #expect(traffic.ledger.totals.acceptedTwice == 0)
                // A slot that moves comes under another primary's reign: its tokens of the last minute are refused
                // (README, Redis), for that reason and no other. Who repeats one after its minute finds nothing.
                let refusals = fleet.refusals()
                for token in traffic.ledger.refusedToAll {
                    let reasons = refusals[Consumer.label(of: token)] ?? []
                    #expect(reasons.contains("handoff.quarantined"))
                    #expect(reasons.subtracting(["handoff.quarantined", "handoff.unknown"]).isEmpty, "\(reasons)")
                }
            }
        }
    }

    @Test("F5: no token is used twice when primaries of a cluster are killed, and all slots are served again")
    func failover() async throws {
        try await RedisCluster.with(replicated: true) { cluster in
            let url = RedisURLs.cluster(cluster)
            try await Fleet.with([url, url], lifetime: Traffic.lifetime, logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                for round in 0..<(isSoak ? 12 : 2) {
                    let traffic = Traffic(fleet)
                    try await traffic.waitUntilServed()
                    let old = try await cluster.killPrimary(of: round % 3)
                    let elected = ContinuousClock.now
                    // Every loop has reached every primary that there is now.
                    try await fleet.waitUntilReady()
                    let ready = ContinuousClock.now
                    try await traffic.waitUntilServed(60)
                    // It comes back as the replica of its successor.
                    try await old.start()
                    try await cluster.waitUntilComplete()
                    try await traffic.waitUntilServed()
                    traffic.stop()
                    traffic.replay()
                    traffic.report("a primary of a cluster killed, all ready \(ready - elected) after its successor")
                    #expect(traffic.ledger.totals.acceptedTwice == 0)
                }
                try await fleet.waitUntilReady()
            }
        }
    }
}
