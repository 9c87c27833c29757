import Foundation
import GatewayBench
import TestSupport

/// A Redis Cluster of three primaries, each with an optional replica.
package final class RedisCluster: Sendable {
    /// The number of hash slots (Redis Cluster specification).
    package static let slotCount = 16_384

    /// The primaries, in the order of their slots at the start.
    package let primaries: [RedisServer]
    /// The replica of the primary with the same index; empty without replicas.
    package let replicas: [RedisServer]

    private init(primaries: [RedisServer], replicas: [RedisServer]) {
        self.primaries = primaries
        self.replicas = replicas
    }

    /// Runs `body` with a cluster that serves all slots.
    @discardableResult
    package static func with<Answer>(
        replicated: Bool = false,
        arguments: [String] = [],
        _ body: (RedisCluster) async throws -> Answer
    ) async throws -> Answer {
        try await ServerTurns.take {
            var servers: [RedisServer] = []
            defer { for server in servers { server.remove() } }
            let cluster = try await self.make(replicated: replicated, arguments: arguments, &servers)
            return try await body(cluster)
        }
    }

    /// Starts the servers, which are added to `servers` as they are made.
    private static func make(
        replicated: Bool,
        arguments: [String],
        _ servers: inout [RedisServer]
    ) async throws -> RedisCluster {
        for index in 0..<(replicated ? 6 : 3) {
            let own = [
                "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000",
                "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
            ]
            let server = try RedisServer(own + arguments)
            servers.append(server)
            try await server.start()
            // Distinct, which they must be before nodes meet.
            try server.command("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
        }
        let cluster = RedisCluster(primaries: Array(servers.prefix(3)), replicas: Array(servers.dropFirst(3)))
        try await cluster.form()
        return cluster
    }

    private var nodes: [RedisServer] { self.primaries + self.replicas }

    private func form() async throws {
        for (index, primary) in self.primaries.enumerated() {
            let first = index * Self.slotCount / 3
            let last = (index + 1) * Self.slotCount / 3 - 1
            try primary.command("CLUSTER", "ADDSLOTSRANGE", "\(first)", "\(last)")
        }
        for node in self.nodes.dropFirst() {
            try self.nodes[0].command("CLUSTER", "MEET", loopback, "\(node.port)")
        }
        let count = "\(self.nodes.count)"
        try await waitUntil("nodes know each other") {
            try self.nodes.allSatisfy { try $0.clusterInfo("cluster_known_nodes") == count }
        }
        for (primary, replica) in zip(self.primaries, self.replicas) {
            let id = try primary.command("CLUSTER", "MYID")
            // The replica may not have heard yet that the other node serves slots.
            try await waitUntil("a replica attached") {
                (try? replica.command("CLUSTER", "REPLICATE", id)) != nil
            }
        }
        try await waitUntil("a cluster that serves") {
            try self.nodes.allSatisfy { try $0.clusterInfo("cluster_state") == "ok" }
                && self.replicas.allSatisfy { try $0.info("master_link_status") == "up" }
        }
    }

    // MARK: Failover

    /// Kills the current primary of a pair and waits until the other has taken over; returns the killed one.
    @discardableResult
    package func killPrimary(of pair: Int) async throws -> RedisServer {
        let servers = [self.primaries[pair], self.replicas[pair]]
        guard let old = servers.first(where: \.isPrimary), let new = servers.first(where: { $0 !== old }) else {
            throw BenchFailure("a pair without a primary")
        }
        old.kill()
        try await waitUntil("a replica has taken over") {
            try new.isPrimary && new.clusterInfo("cluster_state") == "ok"
        }
        return old
    }

    /// Waits until each primary has its replica in step, and every node sees a working cluster.
    package func waitUntilComplete() async throws {
        try await waitUntil("a cluster that is complete") {
            try self.nodes.allSatisfy { node in
                try node.clusterInfo("cluster_state") == "ok"
                    && (node.isPrimary || node.info("master_link_status") == "up")
            }
        }
    }

    // MARK: Slots

    /// The slot of a key.
    package func slot(of key: String) throws -> Int {
        guard let slot = Int(try self.primaries[0].command("CLUSTER", "KEYSLOT", key)) else {
            throw BenchFailure("no slot for a key")
        }
        return slot
    }

    /// The index of the primary that serves a slot at the start.
    package func firstOwner(of slot: Int) -> Int {
        (0..<3).first { slot < ($0 + 1) * Self.slotCount / 3 } ?? 2
    }

    /// Begins to move a slot. From now on the old owner serves keys that it still has, and answers `-ASK` for others.
    package func beginMoving(_ slot: Int, from old: RedisServer, to new: RedisServer) throws {
        try new.command("CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", try old.command("CLUSTER", "MYID"))
        try old.command("CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", try new.command("CLUSTER", "MYID"))
    }

    /// Moves at most this many keys of a slot that is being moved; returns how many there were.
    @discardableResult
    package func moveKeys(_ count: Int, of slot: Int, from old: RedisServer, to new: RedisServer) throws -> Int {
        let keys = try old.command("CLUSTER", "GETKEYSINSLOT", "\(slot)", "\(count)").split(separator: "\n")
        guard !keys.isEmpty else { return 0 }
        try old.command(["MIGRATE", loopback, "\(new.port)", "", "0", "5000", "KEYS"] + keys.map(String.init))
        return keys.count
    }

    /// Assigns a slot whose keys are moved to its new owner, and tells all nodes.
    package func finishMoving(_ slot: Int, to new: RedisServer) throws {
        let id = try new.command("CLUSTER", "MYID")
        // The new owner first, so that the slot always has one.
        for node in [new] + self.primaries.filter({ $0 !== new }) {
            try node.command("CLUSTER", "SETSLOT", "\(slot)", "NODE", id)
        }
    }
}

extension RedisServer {
    /// A field of `CLUSTER INFO`.
    fileprivate func clusterInfo(_ field: String) throws -> String? {
        try self.command("CLUSTER", "INFO").split(whereSeparator: \.isNewline)
            .first { $0.hasPrefix("\(field):") }
            .map { String($0.dropFirst(field.count + 1)) }
    }
}
