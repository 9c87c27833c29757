import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// How a primary is replaced.
private enum Replacement: String, CaseIterable {
    case planned = "planned failover"
    case killed = "killed primary"
    case cutOff = "primary that was cut off"
    case lagging = "promotion of a replica that lags"

    /// The number of rounds in the long form.
    var soakCount: Int {
        switch self {
        case .planned, .killed: 20
        case .cutOff: 10
        case .lagging: 5
        }
    }
}

/// After a sign-out was acknowledged, the user stays signed out, whatever happens to Redis.
@Suite("Sign-outs survive", .blocking, .serialized) struct SignOutTests {
    private static let rate = 200
    private static let perRound = isSoak ? 1000 : 160

    @Test("No failover revives a session that was signed out, whatever causes it", arguments: Replacement.allCases)
    private func failovers(_ replacement: Replacement) async throws {
        try await RedisSentinelGroup.with(proxied: true) { group in
            let url = RedisURLs.sentinels(group)
            try await Fleet.with([url, url], logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let minter = Minter(fleet)
                for _ in 0..<(isSoak ? replacement.soakCount : 1) {
                    let sessions = try SignOuts.sessions(Self.perRound, of: fleet, minter)
                    let before = try self.restoredEnds(fleet)
                    try await self.fail(group, replacement, fleet, sessions)
                    // Otherwise the replica did not lag.
                    if replacement == .lagging { #expect(try self.restoredEnds(fleet) > before) }
                    try await group.waitUntilComplete()
                    try await fleet.waitUntilReady()
                }
            }
        }
    }

    private func restoredEnds(_ fleet: Fleet) throws -> Double {
        try (0..<fleet.count).map { try fleet[$0].metric("sallyport_redis_restored_ends_total") }.reduce(0, +)
    }

    private func fail(
        _ group: RedisSentinelGroup,
        _ replacement: Replacement,
        _ fleet: Fleet,
        _ sessions: [String]
    ) async throws {
        let old = try group.primary()
        let replicas = group.nodes.filter { $0 !== old }
        if replacement == .lagging {
            // The replica reads nothing, and what is sent to it from now on is lost with its link.
            replicas[0].pause()
            try await group.proxy(of: old)?.set(.refused, from: RedisSentinelGroup.backbone)
            try await group.proxy(of: old)?.set(.none, from: RedisSentinelGroup.backbone)
            try await waitUntil("one replica in step") {
                try old.info("slave0")?.contains("state=online") == true
            }
        }
        let signOuts = SignOuts(fleet, sessions: sessions, rate: Self.rate)
        try await signOuts.waitUntilDone(Self.perRound / 4)
        switch replacement {
        case .planned: try await group.failOver()
        case .killed: old.kill()
        case .cutOff: try await group.isolatePrimary()
        case .lagging:
            try await signOuts.waitUntilDone(Self.perRound / 4)
            old.kill()
            replicas[1].kill()
            replicas[0].resume()
        }
        let new = try await group.waitForPrimary(otherThan: old)
        for index in 0..<fleet.count {
            try await waitUntil("gateway \(index) has moved") {
                try fleet[index].admin("/readyz?verbose").text.contains(":\(group.port(of: new)): connected on 1")
            }
        }
        try await Task.sleep(for: .milliseconds(100))
        #expect(signOuts.revived(elsewhere: false) == 0, "\(replacement.rawValue)")
        if replacement == .lagging { try await replicas[1].start() }
        if replacement == .killed || replacement == .lagging { try await old.start() }
        try await group.proxy(of: old)?.set(.none)
        try await group.waitUntilComplete()
        signOuts.stop()
        #expect(signOuts.revived(elsewhere: true) == 0, "\(replacement.rawValue)")
        signOuts.report(replacement.rawValue)
        #expect(signOuts.doneCount > Self.perRound / 4)
    }

    @Test("A restart from an old snapshot revives no session that was signed out")
    func oldSnapshot() async throws {
        try await RedisServer.with(["--dbfilename", "dump.rdb"]) { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url], logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let minter = Minter(fleet)
                for _ in 0..<(isSoak ? 5 : 1) {
                    let sessions = try SignOuts.sessions(Self.perRound, of: fleet, minter)
                    try server.command("SAVE")
                    let signOuts = SignOuts(fleet, sessions: sessions, rate: Self.rate)
                    try await signOuts.waitUntilDone(Self.perRound / 2)
                    server.kill()
                    try await server.start()
                    try await waitUntil("they use it") {
                        try fleet[0].metric(#"sallyport_redis_connections{state="up"}"#) == 1
                            && fleet[1].metric(#"sallyport_redis_connections{state="up"}"#) == 1
                    }
                    try await Task.sleep(for: .milliseconds(100))
                    #expect(signOuts.revived(elsewhere: false) == 0)
                    signOuts.stop()
                    #expect(signOuts.revived(elsewhere: true) == 0)
                    signOuts.report("restart from a snapshot")
                    #expect(try self.restoredEnds(fleet) > 0)
                }
            }
        }
    }

    @Test("A sign-out that no replica confirms is not done, however often it is repeated")
    func repeated() async throws {
        try await RedisSentinelGroup.with(proxied: true, downAfter: 120_000) { group in
            try await Fleet.with([RedisURLs.sentinels(group)], logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let primary = try group.primary()
                let sessions = try SignOuts.sessions(5, of: fleet, Minter(fleet))
                for replica in group.nodes where replica !== primary { replica.pause() }
                defer { for replica in group.nodes { replica.resume() } }
                for cookie in sessions {
                    for _ in 0..<3 { expectUnavailable(try fleet[0].signOut(cookie), "sign-out") }
                }
                for replica in group.nodes { replica.resume() }
                for cookie in sessions {
                    #expect(eventually { (try? fleet[0].signOut(cookie).status) == 303 })
                }
                let replica = try #require(group.nodes.first { $0 !== primary })
                #expect(eventually { (try? replica.keys("sp:f:*")) != nil })
            }
        }
    }

    @Test("A gateway that reaches only the old primary soon stops serving sessions")
    func splitBrain() async throws {
        try await RedisSentinelGroup.with(proxied: true) { group in
            try await Fleet.with([RedisURLs.sentinels(group)], logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let gateway = fleet[0]
                let cookie = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
                #expect(eventually { (try? gateway.get("/", cookie).status) == 200 })
                let began = ContinuousClock.now
                for sentinel in group.sentinels { sentinel.pause() }
                defer { for sentinel in group.sentinels { sentinel.resume() } }
                #expect(eventually { (try? gateway.get("/", cookie).status) == 503 })
                print("report: alone for \(ContinuousClock.now - began), nobody is served")
                expectUnavailable(try gateway.get("/", cookie), "session")
                #expect(throws: BenchFailure.self) { try gateway.browser(.mary) }
                #expect(try gateway.admin("/readyz").text.contains("store_quorum"))
                #expect(try gateway.metric("sallyport_redis_cut_off") == 1)
                #expect(try gateway.get("/public/a").status == 200)
                #expect(eventually { gateway.output.contains("store.cut_off") })
                for sentinel in group.sentinels { sentinel.resume() }
                #expect(eventually { (try? gateway.get("/", cookie).status) == 200 })
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                #expect(eventually { gateway.output.contains("store.rejoined") })
            }
        }
    }
}
