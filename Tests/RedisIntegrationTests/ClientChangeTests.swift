import Foundation
import GatewayBench
import RedisServers
import Testing

/// What operators change of clients at gateways that share one Redis.
@Suite("Changes of clients over Redis", .blocking) struct ClientChangeTests {
    private static let token = "operator-token-of-the-tests-of-clients"
    /// What `printf %s TOKEN | sha256sum` prints.
    private static let digest = "a84af03317d836206aaed08e11fd6c72ce0dc7805dec6587195938151e273d7d"
    private static let files = [
        "secret": "a secret of two gateways, long enough\n", "tokens": "ops read,clients \(Self.digest)\n",
    ]
    private static let settings = Config.file(upstream: 9, more: "secret_file: secret\n").replacing(
        "admin:\n  listen: 127.0.0.1:0\n",
        with: "admin: {listen: \"127.0.0.1:0\", tokens_file: tokens}\n"
    )

    private static func operate(_ gateway: Gateway, _ method: String, _ target: String, _ json: String = "") throws
        -> Answer
    {
        let lines = [
            "\(method) /api/v2/clients\(target) HTTP/1.1", "Host: admin", "Connection: close",
            "Authorization: Bearer \(Self.token)", "Content-Type: application/json",
            "Content-Length: \(json.utf8.count)",
        ]
        return try Wire(to: gateway.adminPort).request(lines.joined(separator: "\r\n") + "\r\n\r\n" + json)
    }

    private static func name(_ gateway: Gateway) -> String? {
        guard let text = try? Self.operate(gateway, "GET", "/web").text else { return nil }
        return text.firstMatch(of: /"name":"([^"]+)"/).map { String($0.1) }
    }

    @Test("A change reaches the other gateway within a second, outlives both, and stays in use while Redis is away")
    func followed() async throws {
        try await RedisServer.with { server in
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            func start() throws -> Gateway {
                try Gateway(Self.settings, files: Self.files, environment: environment)
            }
            let (one, two) = (try start(), try start())
            defer { two.stop() }
            for gateway in [one, two] { #expect(eventually { (try? gateway.admin("/readyz"))?.status == 200 }) }
            let changed = try Self.operate(one, "PATCH", "/web", #"{"name": "Shop"}"#)
            #expect(changed.status == 200 && Self.name(one) == "Shop", "\(changed.text)")
            #expect(eventually(within: 1) { Self.name(two) == "Shop" })
            let made = try Self.operate(two, "POST", "", #"{"app_type": "regular_web", "name": "Made"}"#)
            let secret = String(try #require(made.text.firstMatch(of: /"client_secret":"([^"]{64})"/)).1)
            let id = String(try #require(made.text.firstMatch(of: /"client_id":"([^"]+)"/)).1)
            #expect(eventually { (try? Self.operate(one, "GET", "/\(id)"))?.status == 200 })
            one.stop()
            let three = try start()
            defer { three.stop() }
            #expect(Self.name(three) == "Shop")
            let run = try Servers.run(
                Gateway.binary.path,
                [
                    "check", "--network", "--insecure-http", "--insecure-unnamed-proxy",
                    "--config", three.folder.appending(path: "settings.yaml").path,
                ],
                environment: environment
            )
            #expect(run.output.contains("web: name differs from the file, since "), "\(run.output)")
            #expect(run.output.contains("\(id): is not in the file, since "))
            let keys = try server.keys("sp:*")
            let held = try keys.map { try $0 + server.command("DUMP", $0) }.joined()
            #expect(!keys.isEmpty && !held.contains(secret) && !held.contains("Shop") && !held.contains(id))
            server.kill()
            let refused = try Self.operate(two, "PATCH", "/web", #"{"name": "Other"}"#)
            #expect(refused.status == 503, "\(refused.text)")
            #expect(Self.name(two) == "Shop")
            for gateway in [one, two, three] { #expect(!gateway.output.contains(secret)) }
        }
    }

    @Test("The tokens of a client that is deleted end at the other gateway within a second, for good")
    func deleted() async throws {
        try await RedisServer.with { server in
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            let gateways = try (0..<2).map { _ in
                try Gateway(Self.settings, files: Self.files, environment: environment)
            }
            defer { for gateway in gateways { gateway.stop() } }
            let (one, two) = (gateways[0], gateways[1])
            for gateway in gateways { #expect(eventually { (try? gateway.admin("/readyz"))?.status == 200 }) }
            func access() throws -> String {
                let form = [
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=native", "scope=openid",
                    "subject_token=\(try one.native())",
                    "subject_token_type=urn:sallyport:params:oauth:token-type:session_token",
                ]
                let type = ["Content-Type: application/x-www-form-urlencoded"]
                let answer = try one.request(Request.post("/oauth/token", type, body: form.joined(separator: "&")))
                return String(try #require(answer.text.firstMatch(of: /spa_[A-Za-z0-9_-]+/), "\(answer.text)").0)
            }
            func status(_ token: String, at gateway: Gateway) -> Int? {
                try? gateway.get("/userinfo", ["Authorization: Bearer \(token)"]).status
            }
            let token = try access()
            #expect(status(token, at: one) == 200 && status(token, at: two) == 200)
            #expect(try Self.operate(one, "DELETE", "/native").status == 204)
            #expect(status(token, at: one) == 401)
            #expect(eventually(within: 1) { status(token, at: two) == 401 })
            let again = #"{"client_id": "native", "app_type": "native"}"#
            #expect(try Self.operate(two, "POST", "", again).status == 201)
            #expect(eventually { (try? Self.operate(one, "GET", "/native"))?.status == 200 })
            for gateway in gateways { #expect(status(token, at: gateway) == 401) }
            let fresh = try access()
            for gateway in gateways { #expect(status(fresh, at: gateway) == 200) }
        }
    }
}
