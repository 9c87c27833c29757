import Foundation
import GatewayBench
import RedisServers
import Testing
import Vocabulary

/// Web to native at two gateways that share one Redis: each step reaches another gateway than the one before.
@Suite("Web to native at two gateways", .blocking) struct ExchangeTests {
    private func with(_ body: @Sendable (Gateway, Gateway) throws -> Void) async throws {
        try await RedisServer.with { server in
            let app = try FakeUpstream()
            defer { app.stop() }
            let more = """
                secret_file: secret
                store: {redis: {url: "\(RedisURLs.standalone(server.port))"}}

                """
            let settings = AppJourney.settings(upstream: app.port, more: more)
            let files = ["secret": String(repeating: "s", count: 48) + "\n"]
            try Gateway.with(settings, files: files) { first throws in
                try Gateway.with(settings, files: files) { second throws in
                    for gateway in [first, second] {
                        #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                    }
                    try body(first, second)
                }
            }
        }
    }

    /// Begins a flow at one gateway, signs in at the other, and returns both codes.
    private func codes(_ first: Gateway, _ second: Gateway) throws -> (app: AppSignIn, returned: String) {
        let app = try first.beginAppSignIn()
        #expect(try first.get("/.sallyport/app?flow=\(app.flow)").status == 200)
        return (app, try AppSignIn.code(in: try second.signIn(for: app)))
    }

    @Test("The codes are exchanged once; the same address gets the same answer at both gateways, another none")
    func once() async throws {
        try await self.with { first, second throws in
            let codes = try self.codes(first, second)
            let answer = try first.exchange(codes.app, codes.returned)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try second.exchange(codes.app, codes.returned).text == answer.text)
            let stolen = try second.exchange(codes.app, codes.returned, from: "127.0.0.2")
            #expect(stolen.status == 404 && stolen.text.contains("no session yet for this"))
            #expect(eventually { second.output.contains("\"reason\":\"exchange.replayed\"") })
            let mixed = try self.codes(second, first)
            #expect(try first.exchange(mixed.app, codes.returned).status == 404)
            let token = JSONText.decode(Array(answer.text.utf8))?["session_token"]?.string ?? ""
            #expect(try second.get("/sessions/whoami", ["X-Session-Token: \(token)"]).status == 200)
        }
    }

    @Test(
        "Sign-in in the browser, API, handoff by query, cookie and /authorize, refresh, sign-out: all of it ends, at both"
    )
    func journey() async throws {
        try await self.with { first, second throws in try AppJourney.run(at: [first, second]) }
    }

    @Test("The sessions of a user are listed and revoked at either gateway")
    func sessions() async throws {
        try await self.with { first, second throws in
            let (one, other) = (try first.native(), try second.native())
            func list() throws -> [JSONValue] {
                let answer = try second.get("/sessions", ["X-Session-Token: \(one)"])
                guard case .array(let sessions) = JSONText.decode(Array(answer.text.utf8)) else { return [] }
                return sessions
            }
            // It is noted after the fact.
            #expect(eventually { (try? list().count) == 1 })
            let id = try #require(try list().first?["id"]?.string)
            let text = Request.get("/sessions/\(id)", ["X-Session-Token: \(one)"], method: "DELETE")
            #expect(try first.request(text).status == 204)
            #expect(eventually { (try? second.get("/sessions/whoami", ["X-Session-Token: \(other)"]).status) == 401 })
            #expect(try list().isEmpty)
        }
    }
}
