import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// `explain --token-file` with session-transfer tokens of a running gateway.
@Suite("Transfer tokens explained", .blocking) struct ExplainedTokenTests {
    private static func explain(
        _ gateway: Gateway,
        _ environment: [String: String],
        _ token: String,
        _ more: [String]
    ) throws -> String {
        let file = gateway.folder.appending(path: "settings.yaml").path
        let result = try Servers.run(
            Gateway.binary.path,
            [
                "explain", "--config", file, "--insecure-http", "--insecure-unnamed-proxy", "--url",
                "\(Request.origin)/orders?id=1", "--token-file", "-",
            ] + more,
            environment: environment,
            input: Array("\(token)\n".utf8)
        )
        #expect(result.status == 0, "\(result.output)")
        #expect(!result.output.contains("spt_"), "\(result.output)")
        return result.output
    }

    @Test("explain says what would become of a token, and the token is as good as before")
    func explained() async throws {
        try await RedisServer.with { server in
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            let gateway = try Gateway(
                Config.file(upstream: 9, more: "secret_file: secret\n"),
                files: ["secret": "a secret of the gateway, long enough\n"],
                environment: environment
            )
            defer { gateway.stop() }
            let native = try patiently { try gateway.native() }
            let token = try patiently { try gateway.mint(native) }
            func explain(_ token: String, _ more: String...) throws -> String {
                try Self.explain(gateway, environment, token, more)
            }
            #expect(try explain(token).contains("--network asks Redis what happened to it"))
            for _ in 0..<2 {
                let good = try explain(token, "--network")
                #expect(good.contains("s ago by native for user-1815, at 127.0.0.1"), "\(good)")
                #expect(good.contains("it would sign user-1815 in, for web"), "\(good)")
                let elsewhere = try explain(token, "--network", "--from", "192.0.2.1")
                #expect(elsewhere.contains("refused, and burned: binding.ip_mismatch"), "\(elsewhere)")
            }
            #expect(try gateway.get("/?session_transfer_token=\(token)").sessionCookie?.isEmpty == false)
            #expect(try explain(token, "--network").contains("it was used"))

            let burned = try patiently { try gateway.mint(native) }
            _ = try gateway.get("/?session_transfer_token=\(burned)", from: "127.0.0.2")
            let answer = try explain(burned, "--network")
            #expect(answer.contains("it was burned by a refusal: binding.ip_mismatch"), "\(answer)")
            let forged = burned.altered
            #expect(try explain(forged, "--network").contains("it is unknown"))
            server.kill()
            #expect(try explain(token, "--network").contains("Redis cannot be asked"))
        }
    }
}
