import Foundation
import GatewayBench
import NIOCore
import TestSupport

/// A primary with two replicas, and three sentinels that watch them.
///
/// With proxies, sentinels and clients know every node by its proxy's address. Replicas and sentinels connect from
/// `backbone` and clients from another address, so a primary can be cut off from its group while clients still reach
/// it.
package final class RedisSentinelGroup: Sendable {
    /// The sentinels' name for the primary.
    package static let name = "gate"

    /// The address from which replicas and sentinels connect.
    package static let backbone = "127.0.0.2"

    /// The first one is the primary at the start.
    package let nodes: [RedisServer]
    package let sentinels: [RedisServer]
    /// One in front of each node; empty without proxies.
    package let proxies: [FaultProxy]

    private init(nodes: [RedisServer], sentinels: [RedisServer], proxies: [FaultProxy]) {
        self.nodes = nodes
        self.sentinels = sentinels
        self.proxies = proxies
    }

    /// Runs `body` with a complete group: replicas are in step, and sentinels know each other.
    ///
    /// - Parameters:
    ///   - arguments: Additional arguments of `redis-server` for each node.
    ///   - downAfter: How many milliseconds a node must be silent to count as down. Long where no failover is wanted,
    ///     because the machine may be busy.
    ///   - sentinelPassword: The password that sentinels require from clients.
    @discardableResult
    package static func with<Answer>(
        proxied: Bool = false,
        arguments: [String] = [],
        downAfter: Int = 500,
        sentinelPassword: String? = nil,
        _ body: (RedisSentinelGroup) async throws -> Answer
    ) async throws -> Answer {
        try await ServerTurns.take {
            var servers: [RedisServer] = []
            var proxies: [FaultProxy] = []
            defer { for server in servers { server.remove() } }
            func stopProxies() async throws { for proxy in proxies { try await proxy.stop() } }
            do {
                let nodes = try await self.nodes(proxied: proxied, arguments: arguments, &servers, &proxies)
                let sentinels = try await self.sentinels(
                    of: proxied ? proxies[0].port : nodes[0].port,
                    downAfter: downAfter,
                    password: sentinelPassword,
                    &servers
                )
                let answer = try await body(RedisSentinelGroup(nodes: nodes, sentinels: sentinels, proxies: proxies))
                try await stopProxies()
                return answer
            } catch {
                try await stopProxies()
                throw error
            }
        }
    }

    /// Starts a primary and two replicas, and waits until these are in step.
    private static func nodes(
        proxied: Bool,
        arguments: [String],
        _ servers: inout [RedisServer],
        _ proxies: inout [FaultProxy]
    ) async throws -> [RedisServer] {
        var primary: Int?
        for _ in 0..<3 {
            let port = try ServerPorts.take()
            if proxied { proxies.append(try await FaultProxy.start(to: port)) }
            let known = proxied ? proxies[proxies.count - 1].port : port
            var own = [
                "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", "--bind-source-addr",
                Self.backbone, "--replica-announce-ip", loopback, "--replica-announce-port", "\(known)",
            ]
            if let primary { own += ["--replicaof", "\(loopback) \(primary)"] }
            let node = try RedisServer(own + arguments, port: port)
            servers.append(node)
            primary = primary ?? known
            try await node.start()
        }
        let nodes = servers
        try await waitUntil("replicas in step") {
            try nodes[0].info("connected_slaves") == "2"
                && nodes.dropFirst().allSatisfy { try $0.info("master_link_status") == "up" }
        }
        return nodes
    }

    /// Starts three sentinels, and waits until they know each other and the replicas.
    private static func sentinels(
        of primary: Int,
        downAfter: Int,
        password: String?,
        _ servers: inout [RedisServer]
    ) async throws -> [RedisServer] {
        var sentinels: [RedisServer] = []
        for _ in 0..<3 {
            let sentinel = try RedisServer(
                ["--sentinel"],
                configuration: self.configuration(primary: primary, downAfter: downAfter, password: password)
            )
            servers.append(sentinel)
            sentinels.append(sentinel)
            try await sentinel.start()
            try sentinel.authorized(password, "SENTINEL", "CONFIG", "SET", "announce-port", "\(sentinel.port)")
        }
        try await waitUntil("sentinels know each other") {
            try sentinels.allSatisfy { sentinel in
                try sentinel.authorized(password, "INFO", "sentinel").contains("slaves=2,sentinels=3")
            }
        }
        return sentinels
    }

    private static func configuration(primary: Int, downAfter: Int, password: String?) -> String {
        var lines = [
            "sentinel monitor \(self.name) \(loopback) \(primary) 2",
            "sentinel down-after-milliseconds \(self.name) \(downAfter)",
            "sentinel failover-timeout \(self.name) 2000", "sentinel parallel-syncs \(self.name) 2",
            "sentinel announce-ip \(loopback)", "bind-source-addr \(self.backbone)",
        ]
        if let password {
            lines += ["requirepass \(password)", "sentinel sentinel-pass \(password)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: The primary

    /// The address of each node as gateways are given it.
    package func port(of node: RedisServer) -> Int {
        guard let index = self.nodes.firstIndex(where: { $0 === node }), !self.proxies.isEmpty else { return node.port }
        return self.proxies[index].port
    }

    /// The proxy in front of a node; nil without proxies.
    package func proxy(of node: RedisServer) -> FaultProxy? {
        self.nodes.firstIndex { $0 === node }.flatMap { self.proxies.isEmpty ? nil : self.proxies[$0] }
    }

    /// The node that a sentinel names as the primary.
    package func primary(by sentinel: Int = 0) throws -> RedisServer {
        let address = try self.sentinels[sentinel].command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self.name)
        guard let port = address.split(separator: "\n").last.flatMap({ Int($0) }),
            let node = self.nodes.first(where: { self.port(of: $0) == port })
        else { throw BenchFailure("the sentinel names a primary that is none: \(address)") }
        return node
    }

    /// Waits until all sentinels name another primary than `old`, and that server is a primary.
    @discardableResult
    package func waitForPrimary(otherThan old: RedisServer) async throws -> RedisServer {
        try await waitUntil("another primary") {
            let primaries = try self.sentinels.indices.map { try self.primary(by: $0) }
            return primaries.allSatisfy { $0 === primaries[0] && $0 !== old } && primaries[0].isPrimary
        }
        return try self.primary()
    }

    /// Waits until there is one primary and two replicas in step with it.
    package func waitUntilComplete() async throws {
        try await waitUntil("a complete group") {
            guard let primary = try? self.primary() else { return false }
            let replicas = self.nodes.filter { $0 !== primary }
            let port = "\(self.port(of: primary))"
            return primary.isPrimary
                && replicas.allSatisfy { node in
                    (try? node.info("master_port")) == port && (try? node.info("master_link_status")) == "up"
                }
        }
    }

    // MARK: Failovers

    /// Kills the primary without warning, as a power cut does; returns it.
    @discardableResult
    package func killPrimary() throws -> RedisServer {
        let primary = try self.primary()
        primary.kill()
        return primary
    }

    /// Makes a sentinel begin a failover, as an operator does; returns the old primary, which stays alive.
    @discardableResult
    package func failOver() async throws -> RedisServer {
        // A sentinel refuses while it knows of no suitable replica, as shortly after another failover.
        var primary = try self.primary()
        try await waitUntil("a sentinel that fails over") {
            primary = try self.primary()
            return (try? self.sentinels[0].command("SENTINEL", "FAILOVER", Self.name)) != nil
        }
        return primary
    }

    /// Cuts the primary off from replicas and sentinels while clients still reach it; returns it.
    @discardableResult
    package func isolatePrimary() async throws -> RedisServer {
        let primary = try self.primary()
        guard let proxy = self.proxy(of: primary) else { throw BenchFailure("a group without proxies") }
        try await proxy.set(.refused, from: Self.backbone)
        return primary
    }
}

extension RedisServer {
    /// It reports that it is a primary.
    package var isPrimary: Bool { (try? self.info("role")) == "master" }

    /// A command after the password, if there is one.
    @discardableResult
    fileprivate func authorized(_ password: String?, _ arguments: String...) throws -> String {
        let options = password.map { ["--no-auth-warning", "-a", $0] } ?? []
        return try self.command(options + arguments)
    }
}
