import Foundation
import GatewayBench
import NIOCore
import RedisServers
import Testing

/// The ways in which Redis can be unavailable.
enum Outage: Sendable, CustomTestStringConvertible {
    case fault(FaultProxy.Fault)
    /// The process is stopped by SIGSTOP.
    case stopped

    var testDescription: String {
        switch self {
        case .fault(let fault): "\(fault)"
        case .stopped: "stopped"
        }
    }

    static let all: [Outage] =
        [.stopped, .fault(.refused), .fault(.closedAtOnce), .fault(.hanging)]
        + [.fault(.delayed(toServer: .zero, toClient: .milliseconds(200)))]
        + [
            "LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
            "MISCONF Redis is configured to save RDB snapshots",
            "OOM command not allowed when used memory > 'maxmemory'.",
            "NOREPLICAS Not enough good replicas to write.", "CLUSTERDOWN The cluster is down",
            "BUSY Redis is busy running a script.", "NOAUTH Authentication required.", "MOVED 1 127.0.0.1:1",
        ].map { .fault(.answered("-\($0)")) }

    func begin(_ proxy: FaultProxy, _ server: RedisServer) async throws {
        switch self {
        case .fault(let fault): try await proxy.set(fault)
        case .stopped: server.pause()
        }
    }

    func end(_ proxy: FaultProxy, _ server: RedisServer) async throws {
        switch self {
        case .fault: try await proxy.set(.none)
        case .stopped: server.resume()
        }
    }
}

/// What the built binary does while its Redis is unavailable, and afterwards.
@Suite("Unavailable Redis", .blocking) struct OutageTests {
    private func with(_ body: (Gateway, FaultProxy, RedisServer) async throws -> Void) async throws {
        try await RedisServer.with { server in
            try await FaultProxy.with(to: server.port) { proxy in
                try await Fleet.with([RedisURLs.standalone(proxy.port)]) { fleet in
                    try await fleet.waitUntilReady()
                    try await body(fleet[0], proxy, server)
                }
            }
        }
    }

    @Test(
        "F1, F2, F3, F4: requests that need Redis get 503, cached sessions are served for a while, and service recovers by itself",
        arguments: Outage.all
    )
    func outage(_ outage: Outage) async throws {
        try await self.with { gateway, proxy, server in
            let native = try patiently { try gateway.native() }
            let token = try patiently { try gateway.mint(native) }
            let cached = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
            let other = ["Cookie: sallyport=\(try patiently { try gateway.browser(.grace) })"]
            // Sessions that were read recently are still served, for five seconds. Where a busy machine has taken most of
            // these, the answer proves nothing, and the outage begins again.
            for attempt in 1... {
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                let beforeRead = ContinuousClock.now
                #expect(eventually { (try? gateway.get("/", cached).status) == 200 })
                try await outage.begin(proxy, server)
                let status = try gateway.get("/", cached).status
                let isEarly = ContinuousClock.now - beforeRead < .seconds(4)
                if isEarly || attempt == 5 {
                    #expect(isEarly && status == 200)
                    break
                }
                try await outage.end(proxy, server)
                // Then the session is read again.
                try await Task.sleep(for: .seconds(5))
            }
            // All other requests fail at once, except that the first may have to wait for its deadline.
            expectUnavailable(try gateway.exchange(native), "mint")
            expectUnavailable(try gateway.get("/?session_transfer_token=\(token)"), "handoff by query")
            expectUnavailable(
                try gateway.get("/", ["Cookie: session_transfer_token=\(token)"]),
                "handoff by cookie"
            )
            expectUnavailable(try gateway.get("/", other), "session that was never read")
            #expect(throws: BenchFailure.self, "sign-in") { try gateway.browser(.mary) }
            #expect(try gateway.get("/public/a").status == 200)
            #expect(try gateway.admin("/healthz").status == 200)
            // A Redis that is connected and answers with errors is checked every few seconds.
            #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })

            // A session that cannot be read is served for no longer than five seconds.
            #expect(eventually { (try? gateway.get("/", cached).status) == 503 })
            for fields in [cached, other] { expectUnavailable(try gateway.get("/", fields), "stale session") }
            #expect(try gateway.get("/public/a").status == 200)

            try await outage.end(proxy, server)
            let ended = ContinuousClock.now
            #expect(eventually { (try? gateway.get("/", cached).status) == 200 })
            print("report: \(outage.testDescription): served again after \(ContinuousClock.now - ended)")
            #expect(eventually { (try? gateway.get("/", other).status) == 200 })
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            // No token was burned.
            let consumer = Consumer { gateway.port }
            let outcome = consumer.complete(token)
            if case .signedIn = outcome {} else { Issue.record("the token is gone: \(outcome)") }
            #expect(try patiently { try gateway.browser(.mary, from: "127.2.3.1") }.isEmpty == false)
        }
    }

    @Test("F3: with a slow Redis, requests are refused and do not accumulate")
    func slow() async throws {
        try await self.with { gateway, proxy, _ in
            // None of these sessions was read before, so each request asks Redis.
            let cookies = try (0..<30).map { number in
                try patiently { try gateway.browser(.ada, from: "127.2.4.\(number / 9 + 1)") }
            }
            try await proxy.set(.delayed(toServer: .zero, toClient: .milliseconds(200)))
            let before = gateway.residentBytes
            for _ in 0..<20 {
                let wires = try cookies.map { _ in try gateway.connect() }
                for (wire, cookie) in zip(wires, cookies) {
                    wire.send(Request.get("/", ["Cookie: sallyport=\(cookie)"]))
                }
                for wire in wires { #expect(try wire.answer().status == 503) }
            }
            #expect(gateway.residentBytes - before < Gateway.memoryBound(32 << 20))
        }
    }

    @Test("F6: after Redis comes back empty, users have to sign in again and get no error")
    func restartedEmpty() async throws {
        try await self.with { gateway, _, server in
            let native = try patiently { try gateway.native() }
            let token = try patiently { try gateway.mint(native) }
            let cookie = ["Cookie: sallyport=\(try patiently { try gateway.browser() })", "Accept: text/html"]
            #expect(eventually { (try? gateway.get("/", cookie).status) == 200 })
            server.kill()
            try await server.start()
            #expect(eventually { (try? gateway.get("/", cookie).status) == 303 })
            let answer = try patiently {
                let answer = try gateway.get("/", cookie)
                guard answer.status != 503 else { throw BenchFailure("Redis is late") }
                return answer
            }
            #expect(answer.value("location")?.hasPrefix("\(Request.origin)/.sallyport/login") == true)
            let consumer = Consumer { gateway.port }
            #expect(eventually { consumer.consume(token) == .refused(status: 303) })
            #expect(eventually { (try? gateway.exchange(native).status) == 400 })
            let again = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
            #expect(eventually { (try? gateway.get("/", again).status) == 200 })
        }
    }

    @Test("F6: FLUSHALL also ends cached sessions")
    func flushed() async throws {
        try await self.with { gateway, _, server in
            let cookie = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
            #expect(eventually { (try? gateway.get("/", cookie).status) == 200 })
            try server.command("FLUSHALL")
            #expect(eventually { (try? gateway.get("/", cookie).status) == 401 })
        }
    }

    @Test("F10: with a Redis that may evict markers, the gateway is not ready")
    func eviction() async throws {
        try await self.with { gateway, _, server in
            try server.command("CONFIG", "SET", "maxmemory", "100mb")
            #expect(try gateway.admin("/readyz").status == 200)
            try server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })
            #expect(try gateway.admin("/readyz?verbose").text.contains("maxmemory"))
            try server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
        }
    }
}
