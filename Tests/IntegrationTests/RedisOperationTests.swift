import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// What the operator of a gateway with Redis sees: readiness, metrics, logs, `check --network`, and a rotation of the
@Suite("secret.", .blocking) struct RedisOperationTests {
    private static let password = "redis-password-canary-0123456789"

    /// The settings and the secrets of gateways that share `redis`.
    private static func settings(app: Int, url: String, more: String = "") throws -> (folder: URL, yaml: String) {
        let folder = try Servers.folder()
        try Data("\(String(repeating: "s", count: 48))\n".utf8).write(to: folder.appending(path: "secret"))
        try Data("\(url)\n".utf8).write(to: folder.appending(path: "redis-url"))
        let keys = """
            secret_file: \(folder.appending(path: "secret").path)
            store:
              redis:
                url_file: \(folder.appending(path: "redis-url").path)

            """
        return (folder, Config.file(upstream: app, more: keys + more))
    }

    private static func check(_ yaml: String, in folder: URL) throws -> (status: Int32, output: String) {
        let file = folder.appending(path: "check.yaml")
        try Data(yaml.utf8).write(to: file)
        return try Servers.run(
            Gateway.binary.path,
            ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
        )
    }

    @Test("two gateways on one Redis accept each other's sessions, and metrics and readiness show the state of Redis")
    func sharesSessions() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let redis = try RedisProcess(["--requirepass", Self.password])
        defer { redis.stop() }
        let (folder, yaml) = try Self.settings(app: app.port, url: "redis://:\(Self.password)@127.0.0.1:\(redis.port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Gateway.with(yaml) { first throws in
            #expect(eventually { (try? first.admin("/readyz").status) == 200 })
            let token = try first.native()
            try Gateway.with(yaml) { second throws in
                #expect(try second.get("/", ["Authorization: Bearer \(token)"]).status == 200)
                let detail = try second.admin("/readyz?verbose").text
                #expect(detail.contains("store_safety") && detail.contains("127.0.0.1:\(redis.port): connected on"))
                let metrics = try second.admin("/metrics").text
                for line in [
                    #"sallyport_redis_commands_total{command="mget",result="ok"}"#,
                    #"sallyport_redis_command_duration_seconds_bucket{command="mget",le="+Inf"}"#,
                    #"sallyport_redis_connections{state="down"} 0"#, "sallyport_redis_replicas 0",
                    "sallyport_redis_up 1", #"sallyport_redis_down{reason="not_connected"} 0"#,
                    "sallyport_redis_other_secrets 0",
                    #"sallyport_l1_lookups_total{result="miss"} 1"#, "sallyport_redis_primary_changes_total 0",
                ] {
                    #expect(metrics.contains(line), "\(line)")
                }
                let promtool = "/usr/bin/promtool"
                if FileManager.default.isExecutableFile(atPath: promtool) {
                    let result = try Servers.run(promtool, ["check", "metrics"], input: Array(metrics.utf8))
                    #expect(result.status == 0, "\(result.output)")
                }
            }
            #expect(!first.output.contains(Self.password))
        }
    }

    @Test(
        "if Redis goes away and comes back empty, the gateway is not ready, then ready, and logs and audits the change"
    )
    func goesAndComes() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let redis = try RedisProcess()
        defer { redis.stop() }
        let (folder, yaml) = try Self.settings(app: app.port, url: "redis://127.0.0.1:\(redis.port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Gateway.with(yaml) { gateway throws in
            redis.stop()
            #expect(eventually { (try? gateway.admin("/readyz").text.hasPrefix("not ready: store")) == true })
            #expect(try gateway.admin("/healthz").status == 200)
            #expect(try gateway.get("/public/").status == 200)
            try redis.start()
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            #expect(eventually { gateway.output.contains("store.primary_changed") })
            #expect(gateway.output.contains("the last connection was lost"))
            let metrics = try gateway.admin("/metrics").text
            #expect(metrics.contains("sallyport_redis_primary_changes_total 1\n"))
            let quarantine = metrics.split(separator: "\n").first {
                $0.hasPrefix("sallyport_redis_quarantine_seconds ")
            }
            let seconds = quarantine.flatMap { Double($0.split(separator: " ")[1]) } ?? 0
            #expect(seconds > 0 && seconds <= 60)
        }
    }

    @Test("a gateway starts and serves public routes while its Redis is unavailable")
    func startsWithout() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let (folder, yaml) = try Self.settings(app: app.port, url: "redis://127.0.0.1:\(port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Gateway.with(yaml) { gateway throws in
            #expect(try gateway.admin("/readyz").status == 503)
            #expect(try gateway.get("/public/").status == 200)
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus() == 0)
        }
    }

    @Test("a gateway with another secret is not ready beside earlier ones, which stay ready; one with both secrets is")
    func otherSecret() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let redis = try RedisProcess([])
        defer { redis.stop() }
        let (folder, yaml) = try Self.settings(app: app.port, url: "redis://127.0.0.1:\(redis.port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func settings(_ name: String, _ secrets: [Character]) throws -> String {
            let text = secrets.map { String(repeating: $0, count: 48) + "\n" }.joined()
            try Data(text.utf8).write(to: folder.appending(path: name))
            return yaml.replacing("/secret\n", with: "/\(name)\n")
        }
        try Gateway.with(yaml) { first throws in
            #expect(eventually { (try? first.admin("/readyz").status) == 200 })
            try Gateway.with(try settings("rotated", ["t", "s"])) { rotated throws in
                #expect(eventually { (try? rotated.admin("/readyz").status) == 200 })
            }
            try Gateway.with(try settings("wrong", ["w"])) { wrong throws in
                #expect(eventually { (try? wrong.admin("/readyz").text) == "not ready: store_secrets\n" })
                #expect(
                    eventually {
                        wrong.output.contains("that joined this Redis earlier have none of this gateway's secrets")
                    }
                )
                #expect(try wrong.admin("/metrics").text.contains("sallyport_redis_other_secrets 1"))
                #expect(try first.admin("/readyz").status == 200)
                #expect(
                    eventually(within: 20) {
                        first.output.contains("that joined this Redis later have none of this gateway's")
                    }
                )
                #expect(try first.admin("/readyz").status == 200)
            }
            #expect(eventually(within: 20) { first.output.contains("all gateways share a secret again") })
        }
    }

    @Test("with an eviction policy that may evict markers, the gateway is not ready unless the settings allow it")
    func eviction() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let redis = try RedisProcess(["--maxmemory", "50mb", "--maxmemory-policy", "volatile-lru"])
        defer { redis.stop() }
        let (folder, yaml) = try Self.settings(app: app.port, url: "redis://127.0.0.1:\(redis.port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Gateway.with(yaml) { gateway throws in
            #expect(eventually { (try? gateway.admin("/readyz").text) == "not ready: store_safety\n" })
            #expect(try gateway.admin("/readyz?verbose").text.contains("CONFIG SET maxmemory-policy noeviction"))
            #expect(
                eventually { gateway.output.contains("it may lose sessions and used tokens: it may evict keys") }
            )
        }
        let knowing = yaml.replacing("  redis:\n", with: "  redis:\n    require_safe: false\n")
        try Gateway.with(knowing) { gateway throws in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
        }
        #expect(try Self.check(yaml, in: folder).status == 1)
        #expect(try Self.check(knowing, in: folder).status == 0)
    }

    @Test(
        "without an append-only file the gateway is not ready if the settings require one, and check says what may be lost"
    )
    func appendOnly() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        for (isKept, argument) in [(true, "yes"), (false, "no")] {
            let redis = try RedisProcess(["--appendonly", argument])
            defer { redis.stop() }
            let (folder, yaml) = try Self.settings(app: app.port, url: "redis://127.0.0.1:\(redis.port)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let demanding = yaml.replacing("  redis:\n", with: "  redis:\n    require_appendonly: true\n")
            try Gateway.with(demanding) { gateway throws in
                let text = isKept ? "ready\n" : "not ready: store_safety\n"
                #expect(eventually { (try? gateway.admin("/readyz").text) == text })
            }
            let result = try Self.check(demanding, in: folder)
            #expect(result.status == (isKept ? 0 : 1))
            #expect(result.output.contains("of the last 15 minutes") == !isKept, "\(result.output)")
            #expect(try Self.check(yaml, in: folder).status == 0)
        }
    }

    @Test("a rotation of the secret signs no user out, whichever step each gateway has reached")
    func rotation() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let redis = try RedisProcess()
        defer { redis.stop() }
        let (folder, yaml) = try Self.settings(app: app.port, url: "redis://127.0.0.1:\(redis.port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "secret").path
        func keys(_ step: String) throws {
            let result = try Servers.run(Gateway.binary.path, ["keys", step, file])
            #expect(result.status == 0, "\(result.output)")
        }
        func serves(_ gateway: Gateway, _ token: String) throws -> Bool {
            try gateway.get("/", ["Authorization: Bearer \(token)"]).status == 200
        }
        var old = ""
        var new = ""
        try Gateway.with(yaml) { gateway throws in old = try gateway.native() }
        try keys("add")
        try Gateway.with(yaml) { waiting throws in
            #expect(try serves(waiting, old))
            try keys("promote")
            try Gateway.with(yaml) { promoted throws in
                new = try promoted.native()
                #expect(try serves(promoted, old) && serves(promoted, new))
                #expect(try serves(waiting, new))
            }
        }
        try keys("retire")
        try Gateway.with(yaml) { gateway throws in
            #expect(try serves(gateway, new))
            #expect(try gateway.get("/", ["Authorization: Bearer \(old)"]).status == 401)
        }
    }

    @Test("check --network says exactly what is wrong with a Redis, one verdict per line, and never shows a password")
    func network() throws {
        let acl = "sallyport on >\(Self.password) ~sp:* +@all -wait -client|tracking resetchannels"
        let redis = try RedisProcess(
            ["--user"] + acl.split(separator: " ").map(String.init) + ["--user", "default", "off"]
        )
        defer { redis.stop() }
        let plain = try RedisProcess(["--databases", "4"])
        defer { plain.stop() }
        let replica = try RedisProcess(["--replicaof", "127.0.0.1", "\(plain.port)"])
        defer { replica.stop() }
        let (watching, watched) = try Self.settings(app: 1, url: "redis://127.0.0.1:\(plain.port)")
        defer { try? FileManager.default.removeItem(at: watching) }
        #expect(
            eventually { (try? Self.check(watched, in: watching).output.contains("1 replica")) == true }
        )
        let closed = try ServerPorts.take()
        let cases = [
            ("redis://127.0.0.1:\(plain.port)", 0, "role: primary with 1 replica"),
            ("redis://127.0.0.1:\(closed)", 1, "nothing listens there"),
            ("redis://nowhere.invalid", 1, "its name cannot be resolved"),
            ("redis+unix:///nowhere/redis.sock", 1, "the socket does not exist"),
            ("rediss://127.0.0.1:\(plain.port)", 1, "does not speak TLS"),
            ("redis://127.0.0.1:\(plain.port)/9", 1, "no database with that number"),
            ("redis://:\(Self.password)@127.0.0.1:\(plain.port)", 1, "it has no password"),
            ("redis://127.0.0.1:\(replica.port)", 1, "it is a replica"),
            ("redis+cluster://127.0.0.1:\(plain.port)", 1, "it is not a cluster"),
            ("redis+sentinel://127.0.0.1:\(plain.port)/main", 1, "it is not a sentinel"),
            ("redis://127.0.0.1:\(redis.port)", 1, "it requires a password"),
            (
                "redis://sallyport:wrong-\(Self.password)@127.0.0.1:\(redis.port)", 1,
                "user or the password in the URL is wrong"
            ),
            (
                "redis://sallyport:\(Self.password)@127.0.0.1:\(redis.port)", 1,
                "ACL SETUSER sallyport +wait +client|tracking &__redis__:invalidate"
            ),
        ]
        for (url, status, finding) in cases {
            let (folder, yaml) = try Self.settings(app: 1, url: url)
            defer { try? FileManager.default.removeItem(at: folder) }
            let result = try Self.check(yaml, in: folder)
            #expect(result.status == Int32(status) && result.output.contains(finding), "\(finding): \(result.output)")
            #expect(!result.output.contains(Self.password))
        }
        let app = try FakeUpstream()
        defer { app.stop() }
        let (folder, yaml) = try Self.settings(app: 1, url: "redis://127.0.0.1:\(app.port)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try Self.check(yaml, in: folder)
        #expect(result.status == 1 && result.output.contains("error"), "\(result.output)")
    }
}

/// A `redis-server` on a free loopback port. It can be stopped and started again.
final class RedisProcess {
    let port: Int
    private let folder: URL
    private let arguments: [String]
    private var process: Process?

    init(_ arguments: [String] = []) throws {
        self.port = try ServerPorts.take()
        self.folder = try Servers.folder()
        self.arguments = arguments
        try self.start()
    }

    deinit {
        self.stop()
        try? FileManager.default.removeItem(at: self.folder)
    }

    func start() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/redis-server")
        process.arguments =
            [
                "--port", "\(self.port)", "--bind", "127.0.0.1", "--save", "", "--dir", self.folder.path, "--loglevel",
                "warning",
            ] + self.arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        guard eventually({ (try? Wire(to: self.port)) != nil }) else {
            throw BenchFailure("redis-server did not start")
        }
    }

    func stop() {
        guard let process = self.process, process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }
}
