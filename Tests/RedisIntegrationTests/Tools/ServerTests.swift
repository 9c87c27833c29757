import GatewayBench
import RedisServers
import Testing

/// The servers that other tests rely on behave as those tests assume.
@Suite("Servers of the tests", .blocking) struct ServerTests {
    @Test("A server comes back on its port, either empty or with its data")
    func restart() async throws {
        for (arguments, kept) in [([], "0"), (["--appendonly", "yes", "--appendfsync", "always"], "1")] {
            try await RedisServer.with(arguments) { server in
                try server.command("SET", "k", "v")
                let old = try server.info("run_id")
                server.kill()
                #expect(throws: (any Error).self) { try server.command("PING") }
                try await server.start()
                // It accepts connections before it has loaded its data.
                #expect(try patiently { try server.command("EXISTS", "k") } == kept)
                #expect(try server.info("run_id") != old)
            }
        }
    }

    @Test("With TLS, a client without a certificate gets no answer")
    func tls() async throws {
        let certificates = try Certificates()
        try await RedisServer.with(access: .tls(certificates)) { server in
            #expect(try server.command("PING") == "PONG")
            let answer = try Servers.run(
                "/usr/bin/redis-cli",
                ["-h", loopback, "-p", "\(server.port)", "--tls", "--cacert", certificates.authority, "PING"]
            )
            #expect(!answer.output.contains("PONG"))
        }
    }

    @Test("Sentinels replace a primary that was killed, and one that an operator retires")
    func sentinels() async throws {
        try await RedisSentinelGroup.with { group in
            try group.nodes[0].command("SET", "k", "v")
            let reign = try group.nodes[0].info("master_replid")
            let killed = try group.killPrimary()
            #expect(killed === group.nodes[0])
            let second = try await group.waitForPrimary(otherThan: killed)
            #expect(try second.command("GET", "k") == "v")
            #expect(try second.info("master_replid") != reign)
            try await killed.start()
            try await group.waitUntilComplete()
            let retired = try await group.failOver()
            try await group.waitForPrimary(otherThan: retired)
            try await group.waitUntilComplete()
        }
    }

    @Test(
        "A primary that is cut off from its group still serves clients that reach it, at the same time as the new one"
    )
    func isolated() async throws {
        try await RedisSentinelGroup.with(proxied: true) { group in
            let old = try await group.isolatePrimary()
            let new = try await group.waitForPrimary(otherThan: old)
            let wire = try Wire(to: group.port(of: old))
            wire.send("SET k old\r\n")
            #expect(wire.receive(count: 5) == Array("+OK\r\n".utf8))
            #expect(old.isPrimary && new.isPrimary)
            try await group.proxy(of: old)?.set(.none)
            try await group.waitUntilComplete()
            // What only the old primary had is gone, and there is one primary again.
            #expect(try old.command("EXISTS", "k") == "0")
            #expect(group.nodes.filter(\.isPrimary).count == 1)
        }
    }

    @Test("A cluster serves all slots, and a slot can be moved key by key")
    func cluster() async throws {
        try await RedisCluster.with { cluster in
            let slot = try cluster.slot(of: "{tag}1")
            let old = cluster.primaries[cluster.firstOwner(of: slot)]
            let new = try #require(cluster.primaries.first { $0 !== old })
            try old.command("SET", "{tag}1", "a")
            try old.command("SET", "{tag}2", "b")
            try cluster.beginMoving(slot, from: old, to: new)
            #expect(try cluster.moveKeys(1, of: slot, from: old, to: new) == 1)
            #expect(throws: BenchFailure.self) { try old.command("MGET", "{tag}1", "{tag}2") }
            #expect(try cluster.moveKeys(10, of: slot, from: old, to: new) == 1)
            try cluster.finishMoving(slot, to: new)
            #expect(try new.command("MGET", "{tag}1", "{tag}2") == "a\nb")
            #expect(throws: BenchFailure.self) { try old.command("GET", "{tag}1") }
        }
    }

    @Test("A replica in a cluster takes its primary's place")
    func clusterFailover() async throws {
        try await RedisCluster.with(replicated: true) { cluster in
            let killed = try await cluster.killPrimary(of: 1)
            #expect(killed === cluster.primaries[1] && cluster.replicas[1].isPrimary)
            try await killed.start()
            try await cluster.waitUntilComplete()
        }
    }
}
