import Foundation
import GatewayBench
import OpenIDBench
import RedisServers
import Testing

/// Renewals of a provider's tokens by two gateways at once. The provider gives a new refresh token each time, and ends
/// the user's grant if one comes twice.
@Suite("Refresh under fire", .blocking) struct RefreshUnderFireTests {
    /// Two gateways that share a Redis and a secret, and their provider.
    private struct Bench {
        let provider: OpenIDProvider
        let gateways: [Gateway]

        /// Signs a browser in at the first gateway and returns the session cookie.
        func signIn() throws -> String {
            let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]
            let login = try self.gateways[0].get("/.sallyport/login?return_to=/", navigation)
            guard let location = login.value("location"), let back = self.provider.follow(location) else {
                throw BenchFailure("no sign-in: \(login.lines) \(login.text)")
            }
            let cookies = login.values("set-cookie").map { String($0.prefix { $0 != ";" }) }
            let callback = try self.gateways[0].get(
                String(back.dropFirst(Request.origin.count)),
                navigation + ["Cookie: \(cookies.joined(separator: "; "))"]
            )
            guard let session = callback.sessionCookie else {
                throw BenchFailure("no session: \(callback.lines) \(callback.text)")
            }
            return session
        }

        /// Sends requests over 64 connections to the gateways for this time; returns how many were not answered with
        /// 200, and how many there were.
        func fire(_ cookie: String, at targets: [Gateway], seconds: Double) throws -> (failed: Int, count: Int) {
            let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
            let wires = try (0..<64).map { try targets[$0 % targets.count].connect() }
            let end = Date().addingTimeInterval(seconds)
            var (failed, count) = (0, 0)
            while Date() < end {
                // All are on their way at once.
                for wire in wires { wire.send(request) }
                for wire in wires {
                    count += 1
                    if try wire.answer().status != 200 { failed += 1 }
                }
            }
            return (failed, count)
        }
    }

    private func withBench(life: Duration, _ body: (Bench) throws -> Void) async throws {
        try await RedisServer.with { server in
            var script = OpenIDScript()
            script.accessTokenLifetime = life
            script.refresh = .rotating(overlap: .zero)
            let provider = try OpenIDProvider(script)
            defer { provider.stop() }
            let app = try FakeUpstream { link in
                while link.nextHead() != nil { link.answer(body: "app") }
            }
            defer { app.stop() }
            let settings = """
                public_url: \(Request.origin)
                listen: 127.0.0.1:0
                event_loops: 2
                admin: {listen: 127.0.0.1:0}
                upstream: http://127.0.0.1:\(app.port)
                session: {cookie: sallyport}
                secret_file: secret
                provider:
                  oidc:
                    issuer: \(provider.issuer)
                    client_id: gateway
                    client_secret_file: client-secret
                drain: {delay: 0s, timeout: 100ms}

                """
            let files = [
                "client-secret": script.clients[0].secret ?? "",
                "secret": "\(UUID())\(UUID())",
            ]
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            let gateways = try (0..<2).map { _ in try Gateway(settings, files: files, environment: environment) }
            defer { for gateway in gateways { gateway.stop() } }
            for gateway in gateways {
                #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            }
            try body(Bench(provider: provider, gateways: gateways))
        }
    }

    @Test(
        "F29: 64 connections to two gateways: each renewal is one refresh, every request is served, no token comes twice"
    )
    func manyRenewals() async throws {
        try await self.withBench(life: .seconds(3)) { (bench) throws in
            let cookie = try bench.signIn()
            let fired = try bench.fire(cookie, at: bench.gateways, seconds: 12)
            #expect(fired.failed == 0 && fired.count > 1000)
            let refreshes = bench.provider.calls(of: .token).compactMap { $0["refresh_token"] }
            #expect(bench.provider.reuses == 0 && Set(refreshes).count == refreshes.count && refreshes.count >= 2)
            let renewed = #"sallyport_provider_renewals_total{result="renewed"}"#
            let sum = try bench.gateways.map { try $0.metric(renewed) }.reduce(0, +)
            #expect(Int(sum) == refreshes.count)
            print("report: \(fired.count) requests, \(refreshes.count) refreshes")
        }
    }

    @Test("The gateway that refreshes is killed: one refresh reaches the provider, and nobody is signed out")
    func killedHolder() async throws {
        try await self.withBench(life: .seconds(5)) { (bench) throws in
            let cookie = try bench.signIn()
            let (holder, other) = (bench.gateways[0], bench.gateways[1])
            #expect(try bench.fire(cookie, at: [other], seconds: 0.5).failed == 0)
            bench.provider.hold(.token)
            let request = Request.get("/", ["Cookie: sallyport=\(cookie)"])
            #expect(
                eventually {
                    _ = try? holder.request(request)
                    return bench.provider.waiting(at: .token) == 1
                }
            )
            holder.signal(SIGKILL)
            _ = holder.exitStatus()
            // The provider carries out the request; its answer reaches nobody.
            bench.provider.heal(.token)
            var count = 0
            let end = Date().addingTimeInterval(60)
            while !other.output.contains(#""event":"session.renewal_failed""#), Date() < end {
                let fired = try bench.fire(cookie, at: [other], seconds: 1)
                #expect(fired.failed == 0)
                count += fired.count
            }
            #expect(Date() < end)
            #expect(try bench.fire(cookie, at: [other], seconds: 2).failed == 0)
            #expect(bench.provider.refreshes == 1 && bench.provider.reuses == 0)
            print("report: \(count) requests were served after the gateway was killed")
        }
    }
}
