import NIOCore
import RedisServers
import RedisStore
import Sessions
import TestSupport
import Testing
import Vocabulary

/// A cluster of real servers whose slots move and whose primaries fail.
@Suite(.serialized) struct ClusterTests {
    @Test("The Redis store conforms on a cluster")
    func conforms() async throws {
        try await RedisCluster.with { cluster in
            try await withClient(cluster.configuration()) { client in
                try await client.waitUntilConnected()
                #expect(client.status.nodes.count == 3)
                try await conform(client, on: cluster.primaries)
            }
        }
    }

    @Test("On a cluster the sessions of a user are listed, wherever their lineages are")
    func lists() async throws {
        try await RedisCluster.with { cluster in
            try await withClient(cluster.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                var keys: Set<RecordKey> = []
                for _ in 0..<8 { keys.insert(try await bench.signIn().key) }
                #expect(try await bench.lists(keys))
            }
        }
    }

    /// A node of the cluster that serves no slot.
    private func withNewcomer(
        to cluster: RedisCluster,
        _ body: (RedisServer) async throws -> Void
    ) async throws {
        // It must not become a replica when it has lost its last slot, because its first replica would change the
        // primary's replication id.
        let arguments = [
            "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-allow-replica-migration", "no",
        ]
        try await RedisServer.with(arguments) { newcomer in
            try newcomer.command("CLUSTER", "SET-CONFIG-EPOCH", "9")
            try cluster.primaries[0].command("CLUSTER", "MEET", loopback, "\(newcomer.port)")
            let id = try newcomer.command("CLUSTER", "MYID")
            try await waitUntil("a node that all know") {
                try newcomer.command("CLUSTER", "INFO").contains("cluster_state:ok")
                    && cluster.primaries.allSatisfy { try $0.command("CLUSTER", "NODES").contains(id) }
            }
            try await body(newcomer)
        }
    }

    /// Tokens of one lineage whose slot is moved meanwhile, and how often each was consumed.
    private actor Tokens {
        let keys: [RecordKey]
        private(set) var uses: [RecordKey: Int] = [:]
        private let bench: RedisStoreBench

        init(_ keys: [RecordKey], _ bench: RedisStoreBench) {
            self.keys = keys
            self.bench = bench
        }

        private func note(_ key: RecordKey, _ outcome: Consumption?) {
            if outcome == .done { self.uses[key, default: 0] += 1 }
        }

        /// Two consumers race for each of the first tokens.
        func race(_ count: Int) async {
            await withTaskGroup(of: Void.self) { group in
                for key in self.keys.prefix(count) + self.keys.prefix(count) {
                    group.addTask { await self.note(key, await self.bench.tryToConsume(key)) }
                }
            }
        }
    }

    @Test("While a slot moves to an empty node and back, no token is used twice; before and after, each can be used")
    func migration() async throws {
        try await RedisCluster.with { cluster in
            try await self.withNewcomer(to: cluster) { new in
                // Few retries: keys that are split between nodes are unavailable soon.
                try await withClient(cluster.configuration(commandTimeout: .milliseconds(400))) { client in
                    try await client.waitUntilConnected()
                    let bench = RedisStoreBench(client)
                    let lineage = cluster.lineage(at: 0, bench)
                    let slot = HashSlot.of(Keyspace.lineage(lineage))
                    let old = cluster.primaries[0]
                    let parent = try await bench.signIn(in: lineage)
                    var keys: [RecordKey] = []
                    for _ in 0..<12 { keys.append(try await bench.mint(from: parent)) }
                    let tokens = Tokens(keys, bench)
                    await tokens.race(2)
                    #expect(await tokens.uses.count == 2)

                    try cluster.beginMoving(slot, from: old, to: new)
                    await tokens.race(4)
                    #expect(try await bench.session(parent.key) != nil)
                    try cluster.moveKeys(5, of: slot, from: old, to: new)
                    await tokens.race(6)
                    while try cluster.moveKeys(100, of: slot, from: old, to: new) > 0 {}
                    // Only ASK tells where they are, because no slot map names the new node yet.
                    #expect(client.status.nodes.count == 3)
                    #expect(try await bench.session(parent.key) != nil)
                    await tokens.race(8)
                    try cluster.finishMoving(slot, to: new)
                    #expect(try await bench.session(parent.key) != nil)
                    // Used tokens are known as used; the others were minted under another primary.
                    let used = await tokens.uses
                    for key in keys {
                        if used[key] == nil {
                            #expect(await bench.tryToConsume(key) == .quarantined)
                        } else if case .spent = try await bench.transfer(key) {
                        } else {
                            Issue.record("a used token without its marker")
                        }
                    }
                    let fresh = try await bench.mint(from: parent)
                    #expect(await bench.tryToConsume(fresh) == .done)
                    try await waitUntil("the newcomer in the map") { client.status.nodes.count == 4 }

                    try cluster.beginMoving(slot, from: new, to: old)
                    await tokens.race(10)
                    while try cluster.moveKeys(100, of: slot, from: new, to: old) > 0 {}
                    await tokens.race(10)
                    try new.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", old.command("CLUSTER", "MYID"))
                    try cluster.finishMoving(slot, to: old)
                    #expect(try await bench.session(parent.key) != nil)
                    try await waitUntil("every token used") {
                        await tokens.race(12)
                        return await tokens.uses.count == 12
                    }
                    #expect(await tokens.uses.values.allSatisfy { $0 == 1 })
                    #expect(await bench.tryToConsume(fresh) == nil)
                }
            }
        }
    }

    @Test(
        "When a shard fails over, the others still serve; its tokens from before are refused, later ones are accepted"
    )
    func failover() async throws {
        try await RedisCluster.with(replicated: true) { cluster in
            try await withClient(cluster.configuration()) { client in
                try await client.waitUntilConnected()
                let bench = RedisStoreBench(client)
                let parent = try await bench.signIn(in: cluster.lineage(at: 1, bench))
                let before = try await bench.mint(from: parent)
                cluster.primaries[1].kill()
                try await waitUntil("a new primary") { cluster.replicas[1].isPrimary }
                let elected = ContinuousClock.now
                _ = try await bench.untilAnswered("a read") { try await bench.session(parent.key) }
                print("usable \(ContinuousClock.now - elected) after the cluster's election")
                let refused = try await bench.untilAnswered("a consumption") {
                    try await bench.consumeAnew(before)
                }
                #expect(refused == .quarantined)
                let after = try await bench.untilAnswered("a mint") { try await bench.mint(from: parent) }
                let accepted = try await bench.untilAnswered("a consumption") {
                    try await bench.consumeAnew(after)
                }
                #expect(accepted == .done)
                let other = try await bench.untilAnswered("another shard") {
                    try await bench.signIn(in: cluster.lineage(at: 2, bench))
                }
                #expect(try await bench.session(other.key) != nil)
            }
        }
    }
}
