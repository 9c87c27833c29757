import GatewayBench
import RedisServers
import Testing

/// A token is accepted at most once, whatever happens to the cluster.
@Suite("Exactly once in a cluster", .blocking, .serialized) struct ClusterTrafficTests {
    @Test("When slots move while tokens are used, no token is used twice, and none is lost without a reason")
    func migration() async throws {
        try await RedisCluster.with { cluster in
            let url = RedisURLs.cluster(cluster)
            try await Fleet.with([url, url], logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let traffic = Traffic(fleet)
                try await traffic.waitUntilServed()
                // Moves slots of records that are in use, a few keys at a time, again and again.
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
                // A moved slot belongs to another primary's reign. Its tokens of the last minute are refused (the
                // guide Redis), and for no other reason. A repetition after the token's lifetime finds no token.
                let refusals = fleet.refusals()
                for token in traffic.ledger.refusedToAll {
                    let reasons = refusals[Consumer.label(of: token)] ?? []
                    #expect(reasons.contains("handoff.quarantined"))
                    #expect(reasons.subtracting(["handoff.quarantined", "handoff.unknown"]).isEmpty, "\(reasons)")
                }
            }
        }
    }

    @Test("F5: when primaries of a cluster are killed, no token is used twice, and all slots are served again")
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
                    // Now every loop is connected to every current primary.
                    try await fleet.waitUntilReady()
                    let ready = ContinuousClock.now
                    try await traffic.waitUntilServed(60)
                    // The old primary comes back as a replica.
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
