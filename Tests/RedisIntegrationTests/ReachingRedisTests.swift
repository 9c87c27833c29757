import Foundation
import GatewayBench
import RedisServers
import Testing

/// All ways to connect the built binary to one Redis, and what `check --network` reports for those that fail.
@Suite("Reaching Redis", .blocking) struct ReachingRedisTests {
    private static let password = "redis-password-canary-9876543210"

    /// Signs in, uses the session, and transfers it to a browser.
    private func expectService(_ url: String) async throws {
        try await Fleet.with([url]) { fleet in
            try await fleet.waitUntilReady()
            let gateway = fleet[0]
            let cookie = ["Cookie: sallyport=\(try patiently { try gateway.browser() })"]
            #expect(eventually { (try? gateway.get("/", cookie).status) == 200 })
            let token = try patiently { try gateway.mint(try gateway.native(.grace)) }
            let consumer = Consumer { gateway.port }
            let outcome = consumer.complete(token)
            guard case .signedIn(let session) = outcome else {
                Issue.record("the token signs nobody in: \(outcome)")
                return
            }
            let transferred = ["Cookie: sallyport=\(session)"]
            #expect(
                eventually {
                    let answer = try? gateway.get("/", transferred)
                    return answer?.text.contains("X-Auth-Subject: \(User.grace.id)\r\n") == true
                }
            )
            #expect(consumer.consume(token) == .refused(status: 303))
            #expect(!gateway.output.contains(Self.password))
        }
    }

    /// Runs `sallyport check --network` on this URL and expects its verdict.
    private func expectVerdict(_ url: String, _ status: Int32, _ finding: String) throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("\(String(repeating: "s", count: 48))\n".utf8).write(to: folder.appending(path: "secret"))
        try Data("\(url)\n".utf8).write(to: folder.appending(path: "redis-url"))
        let yaml = Config.file(
            upstream: 1,
            more: """
                secret_file: \(folder.appending(path: "secret").path)
                store:
                  redis:
                    url_file: \(folder.appending(path: "redis-url").path)
                """
        )
        let file = folder.appending(path: "check.yaml")
        try Data(yaml.utf8).write(to: file)
        let result = try Servers.run(
            Gateway.binary.path,
            ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
        )
        #expect(result.status == status && result.output.contains(finding), "\(finding): \(result.output)")
        #expect(!result.output.contains(Self.password))
    }

    @Test("By TLS with a private authority and a client certificate")
    func tls() async throws {
        let certificates = try Certificates()
        let others = try Certificates()
        try await RedisServer.with(access: .tls(certificates)) { server in
            func url(_ parameters: String...) -> String {
                "rediss://\(loopback):\(server.port)?" + parameters.joined(separator: "&")
            }
            let name = "server_name=\(Certificates.serverName)"
            let own = "cert=\(certificates.client)&key=\(certificates.clientKey)"
            let good = url("ca=\(certificates.authority)", own, name)
            try await self.expectService(good)
            try self.expectVerdict(good, 0, "commands: all")
            try self.expectVerdict(
                url("ca=\(others.authority)", own, name),
                1,
                "not signed by an authority that is trusted here"
            )
            try self.expectVerdict(url("ca=\(certificates.authority)", name), 1, "it requires a client certificate")
            let foreign = "cert=\(others.client)&key=\(others.clientKey)"
            try self.expectVerdict(url("ca=\(certificates.authority)", foreign, name), 1, "the gateway's certificate")
            try self.expectVerdict(url("ca=\(certificates.authority)", own), 1, "its certificate has another name")
        }
    }

    @Test("As the documented ACL user, with a password")
    func user() async throws {
        let acl = try String(contentsOf: Gateway.root.appending(path: "deploy/redis/users.acl"), encoding: .utf8)
        let line = try #require(acl.split(separator: "\n").first { $0.hasPrefix("user sallyport ") })
        let rights = line.split(separator: " ").dropFirst().map {
            $0 == "#PASSWORD_SHA256" ? ">\(Self.password)" : String($0)
        }
        let documented = ["--user"] + rights + ["--user", "default", "off"]
        try await RedisServer.with(documented) { server in
            let address = "\(loopback):\(server.port)"
            try await self.expectService("redis://sallyport:\(Self.password)@\(address)")
            try self.expectVerdict("redis://sallyport:\(Self.password)@\(address)", 0, "commands: all")
            try self.expectVerdict(
                "redis://sallyport:\(Self.password)-not@\(address)",
                1,
                "the user or the password in the URL is wrong"
            )
            try self.expectVerdict("redis://\(address)", 1, "it requires a password")
        }
        let lacking = documented.filter { !["+evalsha", "+client|tracking"].contains($0) }
        try await RedisServer.with(lacking) { server in
            try self.expectVerdict(
                "redis://sallyport:\(Self.password)@\(loopback):\(server.port)",
                1,
                "ACL SETUSER sallyport +evalsha +client|tracking"
            )
        }
    }

    @Test("By a unix socket")
    func unixSocket() async throws {
        try await RedisServer.with { server in
            try await self.expectService("redis+unix://\(server.socketPath)")
            try self.expectVerdict("redis+unix://\(server.socketPath)", 0, "commands: all")
            try self.expectVerdict("redis+unix://\(server.socketPath)-not", 1, "the socket does not exist")
        }
    }

    @Test("A Redis that is full or has too few replicas is reachable but refuses to write")
    func refusesWrites() async throws {
        try await RedisServer.with(["--maxmemory", "1"]) { server in
            try self.expectVerdict(RedisURLs.standalone(server.port), 1, "writes: its memory is full")
        }
        try await RedisServer.with(["--min-replicas-to-write", "1"]) { server in
            try self.expectVerdict(RedisURLs.standalone(server.port), 1, "writes: it has fewer replicas")
        }
    }
}
