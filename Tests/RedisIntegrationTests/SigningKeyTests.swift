import Foundation
import GatewayBench
import RedisServers
import Testing

/// The keys of id_tokens of two gateways that share one Redis.
@Suite("Signing keys of two gateways", .blocking) struct SigningKeyTests {
    private static let files = ["secret": "a secret of two gateways, long enough\n"]
    private static let settings = Config.file(upstream: 9, more: "secret_file: secret\n")

    /// The names of the published RSA keys.
    private static func names(_ gateway: Gateway) -> [String] {
        guard let answer = try? gateway.get("/.well-known/jwks.json"),
            let set = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: [[String: String]]]
        else { return [] }
        return (set["keys"] ?? []).filter { $0["kty"] == "RSA" }.compactMap { $0["kid"] }
    }

    private static func rotate(_ gateway: Gateway, _ environment: [String: String], _ more: String...) throws
        -> (status: Int32, output: String)
    {
        let file = gateway.folder.appending(path: "settings.yaml").path
        let flags = ["--config", file, "--insecure-http", "--insecure-unnamed-proxy"]
        return try Servers.run(
            Gateway.binary.path,
            ["keys", "rotate-signing"] + flags + more,
            environment: environment
        )
    }

    @Test("They publish one key, both follow keys rotate-signing, and both keys outlive the gateways")
    func rotation() async throws {
        try await RedisServer.with { server in
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            func start() throws -> Gateway {
                try Gateway(Self.settings, files: Self.files, environment: environment)
            }
            let (one, two) = (try start(), try start())
            defer {
                one.stop()
                two.stop()
            }
            #expect(eventually { Self.names(one).count == 1 && Self.names(one) == Self.names(two) })
            let first = Self.names(one)

            let rotated = try Self.rotate(one, environment)
            #expect(rotated.status == 0, "\(rotated.output)")
            for gateway in [one, two] { #expect(eventually { Self.names(gateway).count == 2 }) }
            let both = Self.names(two)
            #expect(both[0] == first[0] && both == Self.names(one))
            for gateway in [one, two] {
                #expect(eventually { gateway.output.contains("there is a new signing key") })
                #expect(eventually { gateway.output.contains(#""kid":"\#(both[1])""#) })
            }
            #expect(both.allSatisfy(rotated.output.contains) && !rotated.output.contains("PRIVATE"))
            let again = try Self.rotate(one, environment)
            #expect(again.status == 1 && again.output.contains("is still waiting"), "\(again.output)")
            let three = try start()
            defer { three.stop() }
            #expect(eventually { Self.names(three) == both })

            let discarded = try Self.rotate(one, environment, "--discard")
            #expect(discarded.status == 0 && discarded.output.contains("from now on"), "\(discarded.output)")
            for gateway in [one, two, three] { #expect(eventually { Self.names(gateway).count == 1 }) }
            #expect(Self.names(one) == Self.names(two) && !both.contains(Self.names(one)[0]))
        }
    }

    @Test("A gateway without its Redis says so, lets no cache keep what lacks keys, and gets the key later")
    func outage() async throws {
        let server = try RedisServer()
        defer { server.remove() }
        let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
        let gateway = try Gateway(Self.settings, files: Self.files, environment: environment)
        defer { gateway.stop() }
        let answer = try gateway.get("/.well-known/jwks.json")
        #expect(answer.status == 200 && answer.value("cache-control") == "no-store" && answer.text.contains("ES256"))
        #expect(eventually { gateway.output.contains("no signing key of id_tokens was read from it yet") })
        let rotated = try Self.rotate(gateway, environment)
        #expect(rotated.status == 1 && rotated.output.contains("Redis did not confirm"), "\(rotated.output)")
        try await server.start()
        #expect(eventually { Self.names(gateway).count == 1 })
    }
}
