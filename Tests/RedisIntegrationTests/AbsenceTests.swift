import Foundation
import GatewayBench
import RedisServers
import Testing

/// A gateway that cannot use its Redis reports that at once, with the reason.
@Suite("Redis that cannot be used", .blocking) struct AbsenceTests {
    /// Runs `body` with a gateway whose Redis is at this URL.
    private static func with(_ url: String, _ body: (Gateway) async throws -> Void) async throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let gateway = try Gateway(
            Config.file(upstream: app.port, more: "secret_file: secret\n"),
            files: ["secret": String(repeating: "s", count: 48) + "\n"],
            environment: ["SALLYPORT_REDIS_URL": url]
        )
        defer { gateway.stop() }
        try await body(gateway)
    }

    private static func count(_ text: String, in gateway: Gateway) -> Int {
        gateway.output.components(separatedBy: text).count - 1
    }

    @Test(
        "If Redis is unavailable at the start or later, the log and the readiness say so, and also say when it is back"
    )
    func away() async throws {
        let server = try RedisServer()
        defer { server.remove() }
        let reason = "nothing listens there: is Redis running, and are host and port right?"
        try await Self.with(RedisURLs.standalone(server.port)) { gateway in
            let line =
                #""message":"store.redis cannot be used: \#(reason)","fields":{"subject":""#
                + #"\#(loopback):\#(server.port) connection"}"#
            #expect(eventually { gateway.output.contains(line) }, "\(gateway.output)")
            #expect(gateway.output.contains(#""level":"error","#))
            let readiness = try gateway.admin("/readyz?verbose")
            #expect(readiness.status == 503 && readiness.text.contains(reason), "\(readiness.text)")
            #expect(readiness.text.contains("\(loopback):\(server.port)"))

            try await server.start()
            #expect(eventually { gateway.output.contains(#""message":"store.redis can be used again""#) })
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            #expect(try !gateway.admin("/readyz?verbose").text.contains(reason))
            #expect(Self.count(reason, in: gateway) == 1, "it is told once")

            server.kill()
            #expect(eventually { Self.count(reason, in: gateway) == 2 }, "\(gateway.output)")
            #expect(try gateway.admin("/readyz?verbose").text.contains(reason))
            try await server.start()
            #expect(eventually { Self.count("store.redis can be used again", in: gateway) == 2 })
        }
    }

    @Test("What Redis lacks, or why it is not trusted, is reported at the start")
    func reasons() async throws {
        let (good, others) = (try Certificates(), try Certificates())
        func expect(_ url: String, _ reason: String) async throws {
            try await Self.with(url) { gateway in
                #expect(eventually { gateway.output.contains(reason) }, "\(gateway.output)")
                #expect(eventually { (try? gateway.admin("/readyz?verbose").text.contains(reason)) == true })
                #expect(!gateway.output.contains(Mistake.password))
            }
        }
        try await RedisServer.with(["--requirepass", Mistake.password]) { server in
            try await expect(
                RedisURLs.standalone(server.port),
                "it requires a password: write user:password@ into the URL"
            )
            try await expect(
                "redis://:not-\(Mistake.password)@\(loopback):\(server.port)",
                "the user or the password in the URL is wrong"
            )
            try await expect("redis+sentinel://\(loopback):\(server.port)/gate", "it is not a sentinel: use one")
        }
        try await RedisServer.with(access: .tls(good)) { server in
            let parameters = [
                "ca=\(others.authority)", "cert=\(good.client)", "key=\(good.clientKey)",
                "server_name=\(Certificates.serverName)",
            ]
            try await expect(
                "rediss://\(loopback):\(server.port)?\(parameters.joined(separator: "&"))",
                "its certificate is not signed by an authority that is trusted here"
            )
            try await expect(RedisURLs.standalone(server.port), "it speaks TLS there: write rediss:// into the URL")
        }
        let silent = try OddServer(silentFor: 30)
        defer { silent.stop() }
        try await expect(RedisURLs.standalone(silent.port), "it accepts connections but does not answer")
    }
}
