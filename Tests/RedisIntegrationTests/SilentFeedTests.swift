import Foundation
import GatewayBench
import RedisServers
import Testing

/// A feed of invalidations that stays connected but sends nothing.
@Suite("Silent feed", .blocking) struct SilentFeedTests {
    @Test("F9: a gateway whose feed falls silent reads each session before it uses it")
    func silence() async throws {
        try await RedisServer.with { server in
            try await FaultProxy.with(to: server.port) { proxy in
                let urls = [RedisURLs.standalone(server.port), RedisURLs.standalone(proxy.port)]
                try await Fleet.with(urls) { fleet in
                    try await fleet.waitUntilReady()
                    let (own, deaf) = (fleet[0], fleet[1])
                    let cookie = try patiently { try own.browser(.ada, from: "127.2.6.1") }
                    let fields = ["Cookie: sallyport=\(cookie)"]
                    #expect(eventually { (try? deaf.get("/", fields).status) == 200 })

                    try await proxy.set(.deaf)
                    let began = ContinuousClock.now
                    try self.end(cookie, at: own)
                    // The promised limit is 3 s; the test allows more for a busy machine.
                    #expect(eventually { (try? deaf.get("/", fields).status) == 401 })
                    print("report: a silent feed: what ended is refused after \(ContinuousClock.now - began)")
                    #expect(
                        eventually {
                            let text = (try? deaf.admin("/readyz?verbose").text) ?? ""
                            return text.contains("each session is read before it is used")
                        }
                    )

                    // From now on an end takes effect at once, even if the session was used a moment ago.
                    var proofs = 0
                    for round in 0..<10 {
                        let cookie = try patiently { try own.browser(.ada, from: "127.2.6.\(round / 5 + 2)") }
                        let fields = ["Cookie: sallyport=\(cookie)"]
                        #expect(eventually { (try? deaf.get("/", fields).status) == 200 })
                        try self.end(cookie, at: own)
                        // If Redis is late, the session may be served for five seconds, so such a round proves nothing.
                        let series = "sallyport_l1_doubted_uses_total"
                        let before = try deaf.metric(series)
                        let status = try deaf.get("/", fields).status
                        guard try deaf.metric(series) == before, status != 503 else { continue }
                        #expect(status == 401)
                        proofs += 1
                    }
                    #expect(proofs > 0)

                    try await proxy.set(.none)
                    #expect(eventually { (try? deaf.admin("/readyz").status) == 200 })
                    let last = try patiently { try own.browser(.ada, from: "127.2.6.9") }
                    #expect(eventually { (try? deaf.get("/", ["Cookie: sallyport=\(last)"]).status) == 200 })
                    try self.end(last, at: own)
                    #expect(eventually { (try? deaf.get("/", ["Cookie: sallyport=\(last)"]).status) == 401 })
                }
            }
        }
    }

    private func end(_ cookie: String, at gateway: Gateway) throws {
        try patiently {
            guard try gateway.signOut(cookie).status == 303 else { throw BenchFailure("no sign-out") }
        }
    }
}
