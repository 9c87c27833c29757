import Foundation
import GatewayBench
import RedisServers
import Testing

/// Replicas confirm writes that must not be lost, and are used for nothing else.
@Suite("Replicas", .blocking) struct ReplicaTests {
    @Test(
        "F7: nothing is read from replicas that hang, and while none confirms, no session is returned and no token is burned"
    )
    func frozen() async throws {
        // Neither the sentinels nor the primary may give up the silent replicas during the test.
        try await RedisSentinelGroup.with(arguments: ["--repl-timeout", "600"], downAfter: 120_000) { group in
            let primary = try group.primary()
            let replicas = group.nodes.filter { $0 !== primary }
            try await Fleet.with([RedisURLs.sentinels(group)]) { fleet in
                try await fleet.waitUntilReady()
                let gateway = fleet[0]
                let native = try patiently { try gateway.native() }
                let token = try patiently { try gateway.mint(native) }
                let kept = ["Cookie: sallyport=\(try patiently { try gateway.browser(.grace) })"]
                let ended = try patiently { try gateway.browser(.mary) }
                for fields in [kept, ["Cookie: sallyport=\(ended)"]] {
                    #expect(eventually { (try? gateway.get("/", fields).status) == 200 })
                }

                // One replica hangs, and the other confirms. The ended session still exists on the one that hangs.
                replicas[0].pause()
                defer { for replica in replicas { replica.resume() } }
                try patiently {
                    guard try gateway.signOut(ended).status == 303 else { throw BenchFailure("no sign-out") }
                }
                for _ in 0..<50 {
                    let status = try gateway.get("/", ["Cookie: sallyport=\(ended)"]).status
                    // 503: Redis was late.
                    #expect([401, 503].contains(status))
                }

                // Both hang: no confirmation means that a failover could lose the write.
                replicas[1].pause()
                let consumer = Consumer { gateway.port }
                guard case .unavailable(let attempt) = consumer.consume(token), attempt != nil else {
                    Issue.record("a token is used, or refused, though no replica has marked it")
                    return
                }
                for _ in 0..<3 {
                    expectUnavailable(try gateway.exchange(native), "mint")
                    #expect(throws: BenchFailure.self, "sign-in") { try gateway.browser(.ada, from: "127.2.5.1") }
                }
                // Reading needs no replica.
                #expect(eventually { (try? gateway.get("/", kept).status) == 200 })
                // The front must send sign-ins to another gateway.
                #expect(eventually { (try? gateway.admin("/readyz").text) == "not ready: store_writes\n" })
                #expect(try gateway.admin("/readyz?verbose").text.contains("no replica confirms writes"))

                for replica in replicas { replica.resume() }
                var outcome = Consumption.unavailable(attempt: attempt)
                let isBack = eventually {
                    outcome = consumer.consume(token, attempt: attempt)
                    if case .unavailable = outcome { return false }
                    return true
                }
                if case .signedIn = outcome, isBack {} else { Issue.record("the attempt is not completed: \(outcome)") }
                #expect(Consumer { gateway.port }.consume(token) == .refused(status: 303))
                #expect(try patiently { try gateway.mint(native) }.isEmpty == false)
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            }
            // The replicas were only replicated to: they got no read of a session or a token and no script.
            for replica in replicas {
                for command in ["get", "mget", "eval", "evalsha"] { #expect(try replica.calls(of: command) == 0) }
            }
            #expect(try primary.calls(of: "mget") > 0)
        }
    }
}
