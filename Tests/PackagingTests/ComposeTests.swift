import Foundation
import RedisStore
import Testing

/// `deploy/compose.yaml` and the files that it mounts, as far as they can be checked without a container engine.
@Suite struct ComposeTests {
    private typealias Mapping = [String: Any]

    private static func file(_ path: String = "deploy/compose.yaml") throws -> Mapping {
        try #require(try PackageFiles.yaml(PackageFiles.text(path)).first as? Mapping)
    }

    private static func service(_ name: String) throws -> Mapping {
        let services = try #require(try self.file()["services"] as? Mapping)
        return try #require(services[name] as? Mapping, "\(name)")
    }

    /// Secrets made by the script, in a folder that is removed with the test.
    private static func withSecrets(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-compose-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let made = try #require(try PackageFiles.run(["deploy/compose/secrets.sh", folder.path]))
        #expect(made.status == 0, "\(made.output)")
        try body(folder)
    }

    @Test func runsTwoEqualGatewaysFromTheDockerfile() throws {
        var (one, two) = (try Self.service("gateway-1"), try Self.service("gateway-2"))
        // They are equal except for the addresses at which the front finds them.
        let addresses = [one, two].map { service in
            ((service["networks"] as? Mapping)?["default"] as? Mapping)?["ipv4_address"] as? String ?? ""
        }
        let hosts = try Self.service("front")["extra_hosts"] as? [String]
        #expect(hosts == ["gateway-1:\(addresses[0])", "gateway-2:\(addresses[1])"] && addresses[0] != addresses[1])
        (one["networks"], two["networks"]) = (nil, nil)
        #expect(NSDictionary(dictionary: one) == NSDictionary(dictionary: two))
        let build = try #require(one["build"] as? Mapping)
        let context = PackageFiles.root.appending(path: "deploy").appending(path: build["context"] as? String ?? "")
        let dockerfile = try #require(build["dockerfile"] as? String)
        #expect(FileManager.default.fileExists(atPath: context.appending(path: dockerfile).path))
        #expect((try PackageFiles.text("deploy/Dockerfile")).contains("HEALTHCHECK "))
    }

    /// Every mounted file of the host is in the repository or made by the script.
    @Test func mountsFilesThatExist() throws {
        try Self.withSecrets { folder in
            let file = try Self.file()
            let services = try #require(file["services"] as? Mapping)
            var sources = services.values.flatMap { ($0 as? Mapping)?["volumes"] as? [String] ?? [] }
                .filter { $0.hasPrefix("./") }.compactMap { $0.split(separator: ":").first.map(String.init) }
            #expect(sources.count == 3)
            for source in sources {
                #expect((try? PackageFiles.text("deploy/\(source.dropFirst(2))")) != nil, "\(source)")
            }
            let secrets = try #require(file["secrets"] as? Mapping)
            sources = secrets.values.compactMap { ($0 as? Mapping)?["file"] as? String }
            #expect(sources.count == secrets.count && sources.count == 3)
            for source in sources {
                let name = try #require(source.split(separator: "/").last)
                #expect(source == "./compose/secrets/\(name)")
                #expect(FileManager.default.fileExists(atPath: folder.appending(path: name).path), "\(source)")
            }
            #expect((try PackageFiles.text(".gitignore")).contains("deploy/compose/secrets/"))
        }
    }

    /// The binary accepts the settings, variables and flags of the compose file; only the paths are the host's.
    @Test func startsTheGatewaysWithSettingsThatTheBinaryTakes() throws {
        try Self.withSecrets { folder in
            let gateway = try Self.service("gateway-1")
            var variables = try #require(gateway["environment"] as? [String: String])
            for (name, value) in variables {
                let path = value.replacing("/run/secrets/", with: folder.path + "/")
                    .replacing("/etc/sallyport/", with: PackageFiles.root.appending(path: "deploy/compose/").path + "/")
                variables[name] = path.replacing("//", with: "/")
            }
            let command = try #require(gateway["command"] as? [String])
            #expect(command.first == "run")
            let arguments = [".build/release/sallyport", "check", "--quiet"] + command.dropFirst()
            let checked = try #require(
                try PackageFiles.run(["/usr/bin/env", "-i"] + variables.map { "\($0)=\($1)" } + arguments)
            )
            #expect(checked.status == 0 && checked.output.hasPrefix("valid\n"), "\(checked.output)")
        }
    }

    /// Docker's own patience, 10 s, is too short.
    @Test func stopsLaterThanTheGateways() throws {
        let patience = try #require(try Self.service("gateway-1")["stop_grace_period"] as? String)
        let seconds = try #require(Int(patience.prefix { $0 != "s" }))
        #expect(try PackageFiles.drain() < seconds)
        #expect(!(try PackageFiles.text("deploy/compose/sallyport.yaml")).contains("\ndrain:"))
    }

    /// The names and ports by which the services find each other.
    @Test func partsFindOneAnother() throws {
        let services = try #require(try Self.file()["services"] as? Mapping)
        let nginx = try PackageFiles.text("deploy/front/nginx.conf")
        let haproxy = try PackageFiles.text("deploy/front/haproxy.cfg")
        let settings = try PackageFiles.text("deploy/compose/sallyport.yaml")
        for name in ["gateway-1", "gateway-2"] {
            #expect(nginx.contains("server \(name):8080 max_fails=0;"))
            #expect(haproxy.contains("server \(name) \(name):8080 check port 9090\n"))
        }
        // HAProxy 2.6 can give a connection to another client on which it still owes a body.
        for front in [haproxy, try PackageFiles.text("deploy/front/haproxy-regions.cfg")] {
            let backends = front.components(separatedBy: "\nbackend ").dropFirst()
            #expect(!backends.isEmpty && backends.allSatisfy { $0.contains("\n    http-reuse never\n") })
        }
        let gateway = try Self.service("gateway-1")
        #expect((gateway["environment"] as? Mapping)?["SALLYPORT_LISTEN"] as? String == ":8080")
        #expect((gateway["environment"] as? Mapping)?["SALLYPORT_ADMIN_LISTEN"] as? String == ":9090")
        let other = try Self.file("deploy/compose.haproxy.yaml")
        let front = try #require((other["services"] as? Mapping)?["front"] as? Mapping)
        #expect(front["volumes"] as? [String] == ["./front/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro"])
        #expect(services["app"] != nil && settings.contains("upstream: http://app:3000"))
        #expect(try Self.service("app")["command"] as? [String] == ["--port", "3000"])
        #expect(try Self.service("front")["ports"] as? [String] == ["127.0.0.1:8080:8080"])
        #expect(settings.contains("public_url: http://localhost:8080"))
        let networks = try #require(try Self.file()["networks"] as? Mapping)
        let ipam = ((networks["default"] as? Mapping)?["ipam"] as? Mapping)?["config"] as? [Mapping]
        let subnet = try #require(ipam?.first?["subnet"] as? String)
        #expect(settings.contains("trusted_proxies: [\(subnet)]"))
        try Self.withSecrets { folder in
            let url = try String(contentsOf: folder.appending(path: "redis-url"), encoding: .utf8)
            #expect(url.hasPrefix("redis://sallyport:") && url.hasSuffix("@redis:6379") && services["redis"] != nil)
        }
    }

    static let hasRedis = (try? PackageFiles.run(["redis-server", "--version"])) != nil

    @Test func startsRedisThatForgetsNothing() throws {
        let text = try #require(try Self.service("redis")["command"] as? [String]).joined(separator: " ")
        #expect(text.contains("--maxmemory-policy noeviction") && text.contains("--appendonly yes"))
    }

    /// Redis itself accepts the users' file and the arguments, accepts the URL's user, and asks every other client to
    /// sign in.
    @Test(.enabled(if: hasRedis, "redis-server is not installed")) func startsRedisWithArgumentsThatItTakes() throws {
        let redis = try Self.service("redis")
        let command = try #require(redis["command"] as? [String])
        try Self.withSecrets { folder in
            let arguments = command.map { $0.replacing("/run/secrets", with: folder.path) }
            let url = try String(contentsOf: folder.appending(path: "redis-url"), encoding: .utf8)
            let password = url.dropFirst("redis://sallyport:".count).prefix { $0 != "@" }
            let script = """
                cd "$0"; "$@" --port 0 --unixsocket "$0/socket" --dir "$0" --daemonize no >/dev/null & server=$!
                for _ in $(seq 200); do [ -S "$0/socket" ] && break; sleep 0.05; done
                redis-cli -s "$0/socket" ping 2>&1
                REDISCLI_AUTH=\(password) redis-cli -s "$0/socket" --user sallyport info replication 2>&1
                kill -9 $server; wait $server 2>/dev/null
                exit 0
                """
            let answers = try #require(try PackageFiles.run(["bash", "-c", script, folder.path] + arguments))
            #expect(answers.output.contains("NOAUTH") && answers.output.contains("role:master"), "\(answers.output)")
        }
    }

    /// The documented rights are exactly those that the gateway uses.
    @Test func grantsExactlyWhatTheGatewayUses() throws {
        let acl = try PackageFiles.text("deploy/redis/users.acl")
        let line = try #require(acl.split(separator: "\n").first { $0.hasPrefix("user sallyport ") })
        let rights = line.split(separator: " ").dropFirst(2)
        let granted = Set(rights.filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) })
        let needed =
            RedisNeeds.commands() + RedisNeeds.clusterOnly + RedisNeeds.databaseOnly + [RedisNeeds.subscription]
        #expect(granted == Set(needed.map(\.name)))
        let others = rights.filter { !$0.hasPrefix("+") }
        #expect(
            others == [
                "on", "#PASSWORD_SHA256", "resetchannels", "&\(SubscriptionPlan.keyChannel)",
                "~\(RedisNeeds.keyPrefix)*",
                "-@all",
            ]
        )
        // Disabled, so that no client can sign in as it, but with all rights, because Redis replays its append-only
        // file as this user. Without the rights it drops every transaction, and the writes of a script are one
        // (redis#14541, valkey#3983).
        #expect(acl.hasPrefix("user default off ~* &* +@all\n"))
    }
}
