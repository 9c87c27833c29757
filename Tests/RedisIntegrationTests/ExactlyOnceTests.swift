import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// Of all browsers that present a token, exactly one is signed in.
@Suite("Exactly once", .blocking, .serialized) struct ExactlyOnceTests {
    private static let tokenCount = 640
    private static let consumerCount = 100

    /// Lets 100 browsers race for each token at two gateways, and compares their results with the contents of Redis.
    private func race(_ url: String, nodes: [RedisServer]) async throws {
        try await Fleet.with([url, url], logsAccess: false) { fleet in
            try await fleet.waitUntilReady()
            let began = ContinuousClock.now
            let consumers = (0..<Self.consumerCount).map { number in
                Consumer { fleet[number % 2].port }
            }
            let minter = Minter(fleet)
            let ledger = Ledger()
            var wrong = 0
            for _ in 0..<Self.tokenCount {
                let token = try patiently { try minter.mint() }
                for consumer in consumers { #expect(consumer.present(token)) }
                var outcomes = consumers.map { $0.answer() }
                // On a busy machine Redis may be late: a browser that gets 503 completes its attempt.
                for (index, consumer) in consumers.enumerated() {
                    outcomes[index] = consumer.complete(token, after: outcomes[index])
                }
                for outcome in outcomes { ledger.note(outcome, of: token) }
                let refused = outcomes.filter { if case .refused = $0 { true } else { false } }.count
                if refused != Self.consumerCount - 1 { wrong += 1 }
            }
            print("report: \(Self.tokenCount) tokens x \(Self.consumerCount) browsers: \(ContinuousClock.now - began)")
            #expect(wrong == 0, "tokens that were not refused to all but one")
            let expected = Ledger.Totals(tokens: Self.tokenCount, accepted: Self.tokenCount)
            #expect(ledger.totals == expected)
            // Redis contains a marker and a session for each token, and no token but those whose mint was answered 503 on a
            // busy machine: they were written and not handed out.
            let keys = try nodes.flatMap { try $0.keys("sp:*") }
            #expect(keys.filter { $0.hasPrefix("sp:m:") }.count == Self.tokenCount)
            #expect(keys.filter { $0.hasPrefix("sp:t:") }.count <= minter.failures)
            #expect(keys.filter { $0.hasPrefix("sp:s:") }.count == Self.tokenCount + minter.signIns)
            for (number, session) in ledger.sessions(20).enumerated() {
                #expect(
                    eventually { (try? fleet[number % 2].get("/", ["Cookie: sallyport=\(session)"]).status) == 200 }
                )
            }
        }
    }

    @Test("Exactly one of 100 browsers at two gateways gets each token: one Redis")
    func standalone() async throws {
        try await RedisServer.with { server in
            try await self.race(RedisURLs.standalone(server.port), nodes: [server])
        }
    }

    @Test("Exactly one of 100 browsers at two gateways gets each token: Sentinel, with replicas that confirm")
    func sentinel() async throws {
        try await RedisSentinelGroup.with(downAfter: 10_000) { group in
            try await self.race(RedisURLs.sentinels(group), nodes: [try group.primary()])
        }
    }

    @Test("Exactly one of 100 browsers at two gateways gets each token: Cluster")
    func cluster() async throws {
        try await RedisCluster.with { cluster in
            try await self.race(RedisURLs.cluster(cluster), nodes: cluster.primaries)
        }
    }

    @Test("F5, F7: no token is used twice in failovers in which primaries are killed, cut off or retired")
    func failovers() async throws {
        try await RedisSentinelGroup.with(proxied: true) { group in
            let url = RedisURLs.sentinels(group)
            try await Fleet.with([url, url], lifetime: Traffic.lifetime, logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                var durations: [Duration] = []
                for round in 0..<(isSoak ? 50 : 2) {
                    let traffic = Traffic(fleet)
                    try await traffic.waitUntilServed()
                    let kind = isSoak ? round % 3 : round
                    let began = ContinuousClock.now
                    let old =
                        switch kind {
                        case 0: try group.killPrimary()
                        case 1: try await group.isolatePrimary()
                        default: try await group.failOver()
                        }
                    let new = try await group.waitForPrimary(otherThan: old)
                    let elected = ContinuousClock.now
                    // A primary that is only cut off from its group still answers, but gateways must no longer use it.
                    for index in 0..<fleet.count {
                        try await waitUntil("gateway \(index) has moved") {
                            try fleet[index].admin("/readyz?verbose").text.contains(
                                ":\(group.port(of: new)): connected on 1"
                            )
                        }
                    }
                    durations.append(ContinuousClock.now - elected)
                    try await traffic.waitUntilServed()
                    traffic.stop()
                    // An old primary that was cut off still answers at this point.
                    traffic.replay()
                    if kind == 0 { try await old.start() }
                    try await group.proxy(of: old)?.set(.none)
                    try await group.waitUntilComplete()
                    traffic.replay()
                    traffic.report("failover \(round), \(elected - began) to the election")
                    #expect(traffic.ledger.totals.acceptedTwice == 0)
                    #expect(traffic.ledger.totals.accepted > 0)
                }
                print("report: in use \(durations.max() ?? .zero) after an election, at most")
            }
        }
    }

    @Test("F23: no token is used twice when gateways and Redis are killed")
    func kills() async throws {
        try await RedisServer.with(["--appendonly", "yes", "--appendfsync", "everysec"]) { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url], lifetime: Traffic.lifetime, logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                var numbers = SeededNumbers(seed: 23)
                let count = isSoak ? 1000 : 10
                let perRound = isSoak ? 10 : 5
                for _ in 0..<(count / perRound) {
                    let traffic = Traffic(fleet)
                    for kill in 0..<perRound {
                        try await traffic.waitUntilServed()
                        try await Task.sleep(for: .milliseconds(Int.random(in: 0...50, using: &numbers)))
                        if kill % 3 == 2 {
                            server.kill()
                            try await server.start()
                        } else {
                            try fleet.replace(kill % 3)
                        }
                    }
                    try await traffic.waitUntilServed()
                    traffic.stop()
                    traffic.replay()
                    traffic.report("\(perRound) kills")
                    #expect(traffic.ledger.totals.acceptedTwice == 0)
                    #expect(traffic.ledger.totals.accepted > 0)
                }
            }
        }
    }

    @Test("F6: a restore from a backup does not make used tokens valid again")
    func backup() async throws {
        try await RedisServer.with(["--dbfilename", "backup.rdb"]) { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url]) { fleet in
                try await fleet.waitUntilReady()
                let minter = Minter(fleet)
                let (used, unused) = try patiently { (try minter.mint(), try minter.mint()) }
                try server.command("SAVE")
                let consumer = Consumer { fleet[0].port }
                guard case .signedIn = consumer.consume(used) else {
                    Issue.record("the token signs nobody in")
                    return
                }
                // Without a final save, Redis comes back in the state of the backup, with both tokens.
                server.kill()
                try await server.start()
                #expect(try server.keys("sp:t:*").count == 2)
                try await fleet.waitUntilReady()
                for token in [used, unused] {
                    for index in 0..<2 {
                        let outcome = Consumer { fleet[index].port }.consume(token)
                        #expect(outcome == .refused(status: 303))
                    }
                }
                #expect(eventually { fleet[0].output.contains("handoff.quarantined") })
                // Tokens that are minted from now on are valid.
                guard case .signedIn = consumer.consume(try patiently { try minter.mint() }) else {
                    Issue.record("no token can be used after a restart")
                    return
                }
            }
        }
    }
}
