import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// Logout tokens for clients, at two gateways that share one Redis.
@Suite("Clients that two gateways notify", .blocking) struct ClientNotificationTests {
    @Test("Codes from both gateways at once are all noted, and a sign-out at one sends a token for each, once")
    func signOut() async throws {
        let endpoint = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer() })
        defer { endpoint.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: "  - {path: /**}",
            clients: """
                  - client_id: shop
                    callbacks: ["com.example.shop:/callback"]
                    backchannel_logout_uri: http://127.0.0.1:\(endpoint.port)/logout
                """,
            more: "secret_file: secret"
        )
        let files = ["secret": "a secret of two gateways, long enough\n"]
        try await RedisServer.with { server in
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            let gateways = try (0..<2).map { _ in try Gateway(settings, files: files, environment: environment) }
            defer { for gateway in gateways { gateway.stop() } }
            for gateway in gateways { #expect(eventually { (try? gateway.admin("/readyz").status) == 200 }) }
            let cookie = try gateways[0].browser()
            let query =
                "client_id=shop&response_type=code&scope=openid&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let wires = try (0..<6).map { try gateways[$0 % 2].connect() }
            for wire in wires { wire.send(Request.get("/authorize?\(query)", ["Cookie: sallyport=\(cookie)"])) }
            for wire in wires {
                let answer = try wire.answer(seconds: 10)
                #expect(answer.value("location")?.contains("code=spc_") == true, "\(answer.lines)")
            }
            #expect(try gateways[1].signOut(cookie).status == 303)
            let series = #"sallyport_client_logouts_total{result="ok"}"#
            #expect(eventually { (try? gateways[1].metric(series)) == 6 })
            #expect(try gateways[0].signOut(cookie).status == 303)
            #expect(try gateways[0].metric(series) == 0)
            #expect(Set(endpoint.requests.map(\.body)).count == 6 && endpoint.requests.count == 6)
        }
    }
}
