import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

@Suite("The limit of a user's sessions on two gateways", .blocking) struct SharedLimitTests {
    @Test("A sign-in at one gateway ends the oldest session at the other, with what came of it")
    func oldest() async throws {
        try await RedisServer.with { server in
            let app = try FakeUpstream()
            defer { app.stop() }
            let file = Config.file(
                upstream: app.port,
                clients: Config.clients(binding: "none"),
                more: "secret_file: secret"
            )
            let limits = "session:\n  max_per_user: {browser: 2, native: 1}\n"
            let settings = file.replacing("session:\n", with: limits)
            let secret = Fleet.newSecret()
            Secrets.shared.note(secret)
            let files = ["secret": secret + "\n"]
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            try Gateway.with(settings, files: files, environment: environment) { one in
                try Gateway.with(settings, files: files, environment: environment) { two in
                    for gateway in [one, two] {
                        #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                    }
                    func status(_ cookie: String, at gateway: Gateway) -> Int? {
                        try? gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status
                    }
                    let first = try patiently { try one.browser() }
                    #expect(status(first, at: two) == 200)
                    let second = try patiently { try one.browser() }
                    #expect(status(second, at: two) == 200)
                    let third = try patiently { try two.browser() }
                    #expect(status(first, at: two) == 401)
                    #expect(eventually(within: 3) { status(first, at: one) == 401 })
                    for gateway in [one, two] {
                        #expect(status(second, at: gateway) == 200)
                        #expect(status(third, at: gateway) == 200)
                    }
                    let native = try patiently { try one.native() }
                    let token = try patiently { try one.mint(native) }
                    let cookie = try #require(try two.get("/?session_transfer_token=\(token)").sessionCookie)
                    #expect(status(cookie, at: one) == 200)
                    _ = try patiently { try two.native() }
                    #expect(eventually(within: 3) { status(cookie, at: one) == 401 })
                    #expect(status(second, at: one) == 200)
                }
            }
        }
    }
}
