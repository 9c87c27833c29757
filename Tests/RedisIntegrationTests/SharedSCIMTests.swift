import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// Users by SCIM at two gateways that share a Redis.
@Suite("Users by SCIM at two gateways", .blocking, .serialized) struct SharedSCIMTests {
    private static let token = "operator-token-of-tests-that-may-read-and-end"
    private static let files = [
        "secret": "a secret of two gateways, long enough\n",
        // The SHA-256 of the token.
        "tokens": "okta scim 3e37e8efabdeb16fbbb27fec02755348739db332a284a9741a3d8a2c5a0cc71c\n",
    ]

    private func ask(_ gateway: Gateway, _ method: String, _ target: String, _ body: String = "") throws -> Answer {
        let head = [
            "\(method) /scim/v2\(target) HTTP/1.1", "Host: admin", "Connection: close",
            "Authorization: Bearer \(Self.token)", "Content-Length: \(body.utf8.count)",
        ]
        return try Wire(to: gateway.adminPort).request(head.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    @Test("Users of one gateway are found and deactivated at the other, and Redis shows none of their names")
    func shared() async throws {
        try await RedisServer.with { server in
            let app = try FakeUpstream()
            defer { app.stop() }
            let settings = Config.file(upstream: app.port, more: "secret_file: secret\n").replacing(
                "admin:\n  listen: 127.0.0.1:0\n",
                with: "admin: {listen: \"127.0.0.1:0\", tokens_file: tokens, scim: {match: {externalId: sub}}}\n"
            )
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            let gateways = try (0..<2).map { _ in try Gateway(settings, files: Self.files, environment: environment) }
            defer { for gateway in gateways { gateway.stop() } }
            for (index, gateway) in gateways.enumerated() {
                try await waitUntil("gateway \(index) is ready") { try gateway.admin("/readyz").status == 200 }
            }
            let user = #"{"userName":"lovelace@example.com","externalId":"\#(User.ada.id)"}"#
            let created = try self.ask(gateways[0], "POST", "/Users", user)
            let id = try #require(created.text.firstMatch(of: /"id":"([^"]+)"/)?.1, "\(created.lines)")
            for target in ["/Users?filter=externalId%20eq%20%22\(User.ada.id)%22", "/Users/\(id)", "/Users?count=1"] {
                let found = try self.ask(gateways[1], "GET", target)
                #expect(found.status == 200 && found.text.contains(#""id":"\#(id)""#), "\(target): \(found.text)")
            }
            let cookie = ["Cookie: sallyport=\(try patiently { try gateways[0].browser() })"]
            let off = #"{"Operations":[{"op":"replace","value":{"active":false}}]}"#
            #expect(try self.ask(gateways[1], "PATCH", "/Users/\(id)", off).status == 200)
            #expect(eventually(within: 3) { (try? gateways[0].get("/", cookie).status) == 401 })
            for gateway in gateways { #expect(throws: BenchFailure.self) { try gateway.browser() } }
            #expect(try self.ask(gateways[0], "GET", "/Users/\(id)").text.contains(#""active":false"#))
            let keys = try server.keys("sp:*")
            #expect(keys.contains { $0.hasPrefix("sp:c:{scim-users}") })
            for name in ["lovelace", User.ada.id, String(id)] {
                #expect(keys.allSatisfy { !$0.contains(name) }, "\(name)")
            }
        }
    }
}
