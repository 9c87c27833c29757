import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// What answers at the address of Redis, and how Redis is configured.
@Suite("check --network: deployments", .blocking) struct DeploymentTests {
    private static func url(_ port: Int) -> String { RedisURLs.standalone(port) }

    @Test("An address without a Redis, with no listener, or with a listener that does not answer")
    func strangers() async throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let closed = try ServerPorts.take()
        let web = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer("400 Bad Request") })
        let ssh = try OddServer(greeting: "SSH-2.0-OpenSSH_9.2p1\r\n", answers: ["Invalid\r\n", ""])
        let mail = try OddServer(greeting: "220 mail.example ESMTP\r\n", answers: [""])
        let rude = try OddServer()
        let silent = try OddServer(silentFor: 20)
        defer {
            web.stop()
            for server in [ssh, mail, rude, silent] { server.stop() }
        }
        let listens = "connection: nothing listens there: is Redis running, and are host and port right?"
        try await Mistake.expect([
            Mistake("closed", Self.url(closed), says: listens),
            Mistake("closed, by TLS", "rediss://\(loopback):\(closed)", says: listens),
            Mistake(
                "no such host",
                "redis://nowhere.invalid",
                says:
                    "encryption: passwords cross the network unencrypted (records do not): use rediss:// or tls=true, "
                    + "unless the network is private",
                "connection: its name cannot be resolved: is nowhere.invalid right, and does this machine's DNS know it?"
            ),
            Mistake(
                "no such socket",
                "redis+unix://\(folder.path)/redis.sock",
                says: "connection: the socket does not exist: is Redis running with this unixsocket?"
            ),
            Mistake(
                "a web server",
                Self.url(web.port),
                says: "connection: a web server answers there, not Redis: are host and port right?"
            ),
            Mistake(
                "a web server, by TLS",
                "rediss://\(loopback):\(web.port)",
                says: "connection: a web server answers there, not Redis: are host and port right?"
            ),
            Mistake(
                "an SSH server",
                Self.url(ssh.port),
                says: "connection: an SSH server answers there, not Redis: are host and port right?"
            ),
            Mistake(
                "a mail server",
                Self.url(mail.port),
                says: "connection: the server there is not Redis: are host and port right?"
            ),
            Mistake(
                "who hangs up",
                Self.url(rude.port),
                says: "connection: it closes the connection without an answer: is it Redis, or a load balancer "
                    + "without a server behind it?"
            ),
            Mistake(
                "who says nothing",
                Self.url(silent.port),
                says:
                    "connection: it accepts connections but does not answer: is it stopped, or not Redis?"
            ),
        ])
    }

    @Test("Answers that the installed Redis does not give: old versions, loading, protected mode")
    func odd() async throws {
        let denied =
            "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the "
            + "default user. In this mode connections are only accepted from the loopback interface.\r\n"
        let protected = try OddServer(greeting: denied)
        let loading = try OddServer(answers: ["-LOADING Redis is loading the dataset in memory\r\n"])
        let old = try OddServer(answers: [OddServer.info(version: "5.0.14")])
        let older = try OddServer(answers: ["-ERR wrong number of arguments for 'auth' command\r\n"])
        let unprotected = try OddServer(answers: ["-ERR Client sent AUTH, but no password is set\r\n"])
        let node = try OddServer(answers: ["-CLUSTERDOWN The cluster is down\r\n"])
        let all = [protected, loading, old, older, unprotected, node]
        defer { for server in all { server.stop() } }
        let mode = "connection: it is in protected mode: give it a user with a password, or bind it to loopback"
        try await Mistake.expect([
            Mistake("protected", Self.url(protected.port), says: mode),
            Mistake(
                "protected, with a password",
                "redis://u:\(Mistake.password)@\(loopback):\(protected.port)",
                says: mode
            ),
            Mistake(
                "loading",
                Self.url(loading.port),
                says: "connection: it is loading its data, and will serve when that is done"
            ),
            Mistake(
                "old",
                Self.url(old.port),
                says: "version: 5.0.14 cannot announce ended sessions: use 6.0 or later"
            ),
            Mistake(
                "older than users",
                "redis://u:\(Mistake.password)@\(loopback):\(older.port)",
                says: "connection: it is older than 6.0 and has no users: use a later version"
            ),
            Mistake(
                "old without a password",
                "redis://:\(Mistake.password)@\(loopback):\(unprotected.port)",
                says: "connection: it has no password: remove it from the URL or, better, set one in Redis"
            ),
            Mistake(
                "a cluster that is down",
                Self.url(node.port),
                says: "connection: the cluster is down: some hash slots have no primary"
            ),
        ])
    }

    @Test("A Redis that is not the intended one")
    func roles() async throws {
        try await RedisServer.with(["--databases", "4"]) { server in
            try await RedisServer.with(["--replicaof", loopback, "\(server.port)"]) { replica in
                try await waitUntil("a replica in step") { try replica.info("master_link_status") == "up" }
                let isReplica = "role: it is a replica: use the primary, or the sentinels that know it"
                try await Mistake.expect([
                    Mistake("the primary", Self.url(server.port)),
                    Mistake("a database of it", "\(Self.url(server.port))/3"),
                    Mistake(
                        "no such database",
                        "\(Self.url(server.port))/9",
                        says: "database: it has no database with that number: correct the end of the URL"
                    ),
                    Mistake("a replica", Self.url(replica.port), says: isReplica),
                    Mistake("a replica's database", "\(Self.url(replica.port))/3", says: isReplica),
                    Mistake(
                        "no cluster",
                        "redis+cluster://\(loopback):\(server.port)",
                        says: "cluster: it is not a cluster: write redis:// into the URL"
                    ),
                    Mistake(
                        "no sentinel",
                        "redis+sentinel://\(loopback):\(server.port)/gate",
                        says:
                            "sentinel: it is not a sentinel: use one (usually port 26379), or write redis:// into the URL"
                    ),
                ])
            }
        }
        for name in ["EVALSHA", "INFO", "MGET"] {
            try await RedisServer.with(["--rename-command", name, "another-\(name)"]) { server in
                try await Mistake.expect([
                    Mistake(
                        "renamed \(name)",
                        Self.url(server.port),
                        says: "commands: Redis does not know (renamed by rename-command?) \(name)"
                    )
                ])
            }
        }
        try await RedisServer.with(["--maxclients", "1"]) { server in
            // The connection that checked whether the server is up may still occupy the only place.
            var holder = try Wire(to: server.port)
            for _ in 0..<50 where !(holder.send("PING\r\n") && holder.receive(through: "+PONG\r\n", seconds: 1) != nil)
            {
                holder.close()
                holder = try Wire(to: server.port)
            }
            defer { holder.close() }
            try await Mistake.expect([
                Mistake(
                    "maxclients",
                    Self.url(server.port),
                    says: "connection: it has as many clients as maxclients allows"
                ),
                Mistake(
                    "maxclients, with a password",
                    "redis://u:\(Mistake.password)@\(loopback):\(server.port)",
                    says: "connection: it has as many clients as maxclients allows"
                ),
            ])
        }
        try await RedisServer.with(["--lua-time-limit", "50"]) { server in
            let busy = try Wire(to: server.port)
            defer { busy.close() }
            busy.send("EVAL \"while true do end\" 0\r\n")
            _ = busy.receive(seconds: 0.5)
            try await Mistake.expect([
                Mistake(
                    "busy",
                    Self.url(server.port),
                    says: "connection: a script keeps it busy: SCRIPT KILL ends one that has written nothing"
                )
            ])
        }
    }

    @Test("A Redis that may lose data or refuses to write")
    func memory() async throws {
        try await RedisServer.with(["--maxmemory", "64mb", "--save", "3600", "1"]) { server in
            let policies = [
                "allkeys-lru", "volatile-lru", "allkeys-lfu", "volatile-lfu", "allkeys-random", "volatile-random",
                "volatile-ttl",
            ]
            for policy in policies {
                try server.command("CONFIG", "SET", "maxmemory-policy", policy)
                let danger =
                    "safety: it may evict keys, because maxmemory-policy is \(policy): "
                    + "run CONFIG SET maxmemory-policy noeviction"
                try await Mistake.expect([Mistake(policy, Self.url(server.port), says: danger)])
                if policy == policies.last {
                    try server.command("CONFIG", "SET", "maxmemory", "0")
                    try await Mistake.expect([Mistake("no limit", Self.url(server.port))])
                }
            }
            try server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
            for refusal in WriteRefusal.allCases {
                try await refusal.begin(server)
                let says =
                    switch refusal {
                    case .memory: ["writes: its memory is full and it refuses writes: raise maxmemory"]
                    case .replicas: ["writes: it has fewer replicas than min-replicas-to-write requires"]
                    case .disk:
                        [
                            "safety: its last save to disk failed: see its log, and the free space and permissions of its directory",
                            "writes: it cannot save to disk and refuses writes: see its log",
                        ]
                    }
                var mistake = Mistake(refusal.rawValue, Self.url(server.port), says: says[0])
                if says.count > 1 { mistake = Mistake(refusal.rawValue, Self.url(server.port), says: says[0], says[1]) }
                try await Mistake.expect([mistake])
                try await refusal.end(server)
            }
        }
        try await RedisServer.with(["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]) { server in
            let danger =
                "safety: it may evict keys, because maxmemory-policy is allkeys-lru: "
                + "run CONFIG SET maxmemory-policy noeviction"
            try await Mistake.expect([
                Mistake("accepted", Self.url(server.port), says: danger, setting: "require_safe: false")
            ])
        }
    }
}
