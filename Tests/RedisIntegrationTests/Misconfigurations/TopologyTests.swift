import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// Sentinels and clusters that name the wrong primary, or none.
@Suite("check --network: sentinels and clusters", .blocking) struct TopologyTests {
    /// Runs `body` with one sentinel that watches a primary on this port.
    private static func withSentinel(
        of port: Int,
        _ lines: [String] = [],
        _ body: (RedisServer) async throws -> Void
    ) async throws {
        let configuration = (["sentinel monitor gate \(loopback) \(port) 1"] + lines).joined(separator: "\n") + "\n"
        let sentinel = try RedisServer(["--sentinel"], configuration: configuration)
        defer { sentinel.remove() }
        try await sentinel.start()
        try await body(sentinel)
    }

    private static func url(_ ports: Int..., name: String = "gate", more: String = "") -> String {
        "redis+sentinel://\(ports.map { "\(loopback):\($0)" }.joined(separator: ","))/\(name)\(more)"
    }

    @Test("Sentinels")
    func sentinels() async throws {
        let closed = try ServerPorts.take()
        let listens = "nothing listens there: is Redis running, and are host and port right?"
        let wrong = "sentinel: sentinel_user or sentinel_password of the URL is wrong"
        try await RedisServer.with { server in
            try await Self.withSentinel(of: server.port) { sentinel in
                try await Mistake.expect([
                    Mistake("good", Self.url(sentinel.port)),
                    Mistake(
                        "another name",
                        Self.url(sentinel.port, name: "main"),
                        says: "sentinel: it watches no main: it watches gate"
                    ),
                    Mistake("one is away", Self.url(closed, sentinel.port), says: "sentinel: \(listens)"),
                    Mistake("all are away", Self.url(closed), says: "sentinel: \(listens)"),
                    Mistake(
                        "one address is not a sentinel",
                        Self.url(server.port, sentinel.port),
                        says:
                            "sentinel: it is not a sentinel: use one (usually port 26379), or write redis:// into the URL"
                    ),
                    Mistake(
                        "a sentinel for Redis",
                        RedisURLs.standalone(sentinel.port),
                        says: "connection: it answers, but not as a server with data: if it is a sentinel, "
                            + "write redis+sentinel://"
                    ),
                    Mistake(
                        "a password that is not wanted",
                        Self.url(sentinel.port, more: "?sentinel_password=\(Mistake.password)"),
                        says: "sentinel: it has no password: remove sentinel_password= from the URL"
                    ),
                    Mistake(
                        "TLS",
                        Self.url(sentinel.port, more: "?tls=true"),
                        says: "sentinel: it does not speak TLS there: write redis:// into the URL, or use its tls-port"
                    ),
                ])
            }
            let unheard =
                "&+failover-state-send-slaveof-noone &+promoted-slave &-failover-abort-slave-timeout"
            let lines = [
                "requirepass \(Mistake.password)",
                "user deaf on >\(Mistake.password) +auth +sentinel -@pubsub allchannels",
                "user narrow on >\(Mistake.password) +auth +sentinel +subscribe resetchannels &+switch-master",
                "user mute on >\(Mistake.password) -@all +subscribe allchannels",
            ]
            try await Self.withSentinel(of: server.port, lines) { sentinel in
                let password = "sentinel_password=\(Mistake.password)"
                try await Mistake.expect([
                    Mistake("good password", Self.url(sentinel.port, more: "?\(password)")),
                    Mistake(
                        "none",
                        Self.url(sentinel.port),
                        says:
                            "sentinel: it requires its own password: write sentinel_password= into the URL (is it a sentinel?)"
                    ),
                    Mistake(
                        "wrong",
                        Self.url(sentinel.port, more: "?sentinel_password=not-\(Mistake.password)"),
                        says: wrong
                    ),
                    Mistake("another user", Self.url(sentinel.port, more: "?sentinel_user=x&\(password)"), says: wrong),
                    Mistake(
                        "deaf",
                        Self.url(sentinel.port, more: "?sentinel_user=deaf&\(password)"),
                        says: "sentinel: its user may not subscribe to news of failovers, so they are noticed late: "
                            + "grant +subscribe &+switch-master \(unheard)"
                    ),
                    Mistake(
                        "narrow",
                        Self.url(sentinel.port, more: "?sentinel_user=narrow&\(password)"),
                        says: "sentinel: its user may not subscribe to news of failovers, so they are noticed late: "
                            + "grant +subscribe \(unheard)"
                    ),
                    Mistake(
                        "mute",
                        Self.url(sentinel.port, more: "?sentinel_user=mute&\(password)"),
                        says: "sentinel: its user lacks +sentinel|get-master-addr-by-name"
                    ),
                ])
            }
        }
        try await Self.withSentinel(of: closed) { sentinel in
            try await Mistake.expect([
                Mistake(
                    "an address that cannot be reached",
                    Self.url(sentinel.port),
                    says: "connection: \(listens) (the sentinels report this address)"
                )
            ])
        }
    }

    @Test("Clusters")
    func clusters() async throws {
        let closed = try ServerPorts.take()
        let cluster = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        try await RedisServer.with(cluster) { server in
            let url = "redis+cluster://\(loopback):\(server.port)"
            try await Mistake.expect([
                Mistake("not created", url, says: "cluster: it knows no primaries: was the cluster created?")
            ])
            try server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16000")
            try await Mistake.expect([
                Mistake("383 slots are missing", url, says: "cluster: 383 of 16384 hash slots have no primary")
            ])
            try server.command("CLUSTER", "ADDSLOTSRANGE", "16001", "16383")
            try await waitUntil("a cluster that serves") {
                try server.command("CLUSTER", "INFO").contains("cluster_state:ok")
            }
            let isNode = "role: it is a node of a cluster: write redis+cluster:// into the URL"
            try await Mistake.expect([
                Mistake("good", url),
                Mistake(
                    "one is away",
                    "redis+cluster://\(loopback):\(closed),\(loopback):\(server.port)",
                    says: "cluster: nothing listens there: is Redis running, and are host and port right?"
                ),
                Mistake(
                    "all are away",
                    "redis+cluster://\(loopback):\(closed)",
                    says: "cluster: nothing listens there: is Redis running, and are host and port right?"
                ),
                Mistake("a node for Redis", RedisURLs.standalone(server.port), says: isNode),
                Mistake("a node's database", "\(RedisURLs.standalone(server.port))/1", says: isNode),
            ])
        }
        try await RedisServer.with(cluster + ["--cluster-announce-port", "\(closed)"]) { server in
            try server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            try await waitUntil("a cluster that serves") {
                try server.command("CLUSTER", "INFO").contains("cluster_state:ok")
            }
            try await Mistake.expect([
                Mistake(
                    "an address that cannot be reached",
                    "redis+cluster://\(loopback):\(server.port)",
                    says: "connection: nothing listens there: is Redis running, and are host and port right? "
                        + "(the cluster reports this address)"
                )
            ])
        }
    }
}
