import Foundation
import GatewayBench
import RedisServers
import Testing

/// An end at one gateway takes effect at every gateway, and cached sessions are read no more often than necessary.
@Suite("Sessions of two gateways", .blocking) struct RevocationTests {
    @Test("A sign-out at one gateway is seen at the other within a second")
    func signOut() async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url], loops: 2) { fleet in
                try await fleet.waitUntilReady()
                var delays: [Duration] = []
                for round in 0..<20 {
                    let cookie = try patiently { try fleet[0].browser(.ada, from: "127.2.0.\(round / 5 + 1)") }
                    let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
                    // Cached on every loop: there are enough connections to reach each of them.
                    let wires = try (0..<6).map { _ in try fleet[1].connect() }
                    for wire in wires { #expect(eventually { (try? wire.request(request).status) == 200 }) }
                    try patiently { try fleet[0].endSession(cookie) }
                    let ended = ContinuousClock.now
                    for wire in wires {
                        #expect(eventually(within: 3) { (try? wire.request(request).status) == 401 })
                    }
                    delays.append(ContinuousClock.now - ended)
                    // At the first gateway the session had ended before the answer.
                    #expect(try fleet[0].request(request).status == 401)
                }
                print("report: a sign-out is seen at the other gateway after a median of \(delays.sorted()[10])")
            }
        }
    }

    @Test("The end of a native session also ends the sessions that its tokens created at the other gateway")
    func lineage() async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url]) { fleet in
                try await fleet.waitUntilReady()
                let native = try patiently { try fleet[0].native() }
                let token = try patiently { try fleet[0].mint(native) }
                let answer = try fleet[1].get("/?session_transfer_token=\(token)")
                let cookie = try #require(answer.sessionCookie)
                #expect(try fleet[1].get("/", ["Cookie: sallyport=\(cookie)"]).status == 200)
                let body = #"{"session_token":"\#(native)"}"#
                let fields = ["Content-Type: application/json"]
                let logout = Request.get("/self-service/logout/api", fields, method: "DELETE", body: body)
                #expect(try fleet[0].request(logout).status == 204)
                #expect(
                    eventually(within: 3) {
                        (try? fleet[1].get("/", ["Cookie: sallyport=\(cookie)"]).status) == 401
                    }
                )
                #expect(try fleet[1].get("/", ["Authorization: Bearer \(native)"]).status == 401)
            }
        }
    }

    @Test("A handoff at one gateway makes a copy of the cookie worthless at the other; a sign-out ends every token")
    func copiedCookie() async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url], loops: 2) { fleet in
                try await fleet.waitUntilReady()
                var cookies = [try patiently { try fleet[0].browser(.ada) }]
                // Cached on every loop of the other gateway.
                let wires = try (0..<6).map { _ in try fleet[1].connect() }
                func statuses(_ cookie: String) -> Set<Int> {
                    let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
                    return Set(wires.map { (try? $0.request(request).status) ?? 0 })
                }
                #expect(eventually { statuses(cookies[0]) == [200] })
                for gateway in 0..<2 {
                    let token = try patiently { try fleet[gateway].transferToken(.ada) }
                    let fields = ["Cookie: sallyport=\(cookies[gateway])"]
                    let answer = try fleet[gateway].get("/?session_transfer_token=\(token)", fields)
                    cookies.append(try #require(answer.sessionCookie, "\(answer.lines)"))
                    #expect(eventually { statuses(cookies[gateway + 1]) == [200] })
                }
                #expect(eventually(within: 3) { statuses(cookies[0]) == [401] })
                #expect(try fleet[0].get("/", ["Cookie: sallyport=\(cookies[0])"]).status == 401)
                #expect(statuses(cookies[2]) == [200])
                try patiently { try fleet[0].endSession(cookies[2]) }
                for cookie in cookies { #expect(eventually(within: 3) { statuses(cookie) == [401] }) }
            }
        }
    }

    @Test("Requests with one session cause one read per loop every four seconds, and no request waits for it")
    func reads() async throws {
        let (seconds, readsAllowed) = isSoak ? (20.0, 5) : (6.0, 2)
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url], loops: 2, logsAccess: false) { fleet in
                try await fleet.waitUntilReady()
                let request = Request.get("/", ["Cookie: sallyport=\(try patiently { try fleet[0].browser() })"])
                let wires = try (0..<16).map { try fleet[$0 % 2].connect() }
                for wire in wires { #expect(eventually { (try? wire.request(request).status) == 200 }) }
                func waits() throws -> Double {
                    let series = [#"sallyport_l1_lookups_total{result="miss"}"#, "sallyport_l1_rereads_total"]
                    return try (0..<2).flatMap { gateway in try series.map { try fleet[gateway].metric($0) } }
                        .reduce(0, +)
                }
                let before = try waits()
                #expect(before > 0)
                try server.command("CONFIG", "RESETSTAT")
                let end = Date().addingTimeInterval(seconds)
                var count = 0
                while Date() < end {
                    for wire in wires { #expect(try wire.request(request).status == 200) }
                    count += wires.count
                }
                // There are two gateways with two loops each. A session is read with MGET.
                let reads = try server.calls(of: "mget")
                #expect(reads <= 4 * readsAllowed && reads > 0)
                #expect(try waits() == before)
                print("report: \(count) requests in \(seconds) s cost \(reads) reads")
            }
        }
    }

    @Test("F9: a gateway whose feed of invalidations was cut learns what it missed")
    func cutFeed() async throws {
        try await RedisServer.with { server in
            let url = RedisURLs.standalone(server.port)
            try await Fleet.with([url, url]) { fleet in
                try await fleet.waitUntilReady()
                for round in 0..<5 {
                    let cookie = try patiently { try fleet[0].browser(.ada, from: "127.2.1.\(round + 1)") }
                    let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
                    #expect(eventually { (try? fleet[1].request(request).status) == 200 })
                    // Both feeds are connected, or connected again since the last round.
                    #expect(
                        eventually {
                            let feeds = try? server.command("CLIENT", "LIST", "TYPE", "pubsub")
                            return feeds?.split(separator: "\n").count == 2
                        }
                    )
                    #expect(try server.command("CLIENT", "KILL", "TYPE", "pubsub") == "2")
                    try patiently { try fleet[0].endSession(cookie) }
                    #expect(eventually(within: 3) { (try? fleet[1].request(request).status) == 401 })
                }
            }
        }
    }
}

extension Gateway {
    /// Signs a browser out.
    ///
    /// - Throws: `BenchFailure` if the sign-out does not succeed.
    fileprivate func endSession(_ cookie: String) throws {
        let answer = try self.signOut(cookie)
        guard answer.status == 303 else { throw BenchFailure("no sign-out: \(answer.lines)") }
    }
}
