package import Vocabulary

/// The facts from a server's `INFO` that the gateway uses.
package struct RedisFacts: Sendable, Hashable {
    package var version: String
    /// The random id that the server gets at each start.
    package var runID: String
    package var isPrimary: Bool
    /// The id of the primary's history of writes (`master_replid`): it changes with every start and every promotion.
    package var replicationID: String
    /// The number of replicas that can confirm writes. A replica that still receives its first copy is not included.
    package var connectedReplicas: Int
    /// The memory limit in bytes; 0 if there is no limit.
    package var maxMemory: Int
    package var maxMemoryPolicy: String
    /// The number of keys that were evicted for lack of memory since the server's start.
    package var evictedKeys: Int
    package var writesAppendOnlyFile: Bool
    /// False if the last snapshot, or the last write or rewrite of the append-only file, failed.
    package var lastSaveSucceeded: Bool
    package var isCluster: Bool
    /// The time by the server's clock; `nil` before Redis 6.2.
    package var time: UnixTime?

    /// Reads the reply to `INFO`; `nil` if it is no bulk string, or lacks the role or the replication id. Other facts
    /// get default values if the server omits them.
    package init?(_ reply: RedisReply?) {
        guard case .bulk(let bytes) = reply else { return nil }
        var fields: [Substring: Substring] = [:]
        let text = String(decoding: bytes, as: UTF8.self)
        // Splitting characters instead of bytes would block the loop for a millisecond.
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            fields[Substring(line[..<colon])] = Substring(line[line.index(after: colon)...])
        }
        guard let role = fields["role"], let reign = fields["master_replid"], !reign.isEmpty else { return nil }
        func number(_ name: Substring) -> Int { fields[name].flatMap { Int($0) } ?? 0 }
        self.version = String(fields["redis_version"] ?? "unknown")
        self.runID = String(fields["run_id"] ?? "")
        self.isPrimary = role == "master"
        self.replicationID = String(reign)
        // slave0:ip=127.0.0.1,port=6380,state=online,offset=42,lag=0
        let replicas = fields.filter { name, value in
            name.hasPrefix("slave") && name.dropFirst(5).allSatisfy(\.isNumber) && value.utf8.contains("state=".utf8)
        }
        self.connectedReplicas =
            replicas.isEmpty
            ? number("connected_slaves") : replicas.count { $0.value.split(separator: ",").contains("state=online") }
        self.maxMemory = number("maxmemory")
        self.maxMemoryPolicy = String(fields["maxmemory_policy"] ?? "noeviction")
        self.evictedKeys = number("evicted_keys")
        self.writesAppendOnlyFile = number("aof_enabled") == 1
        self.lastSaveSucceeded =
            ["rdb_last_bgsave_status", "aof_last_bgrewrite_status", "aof_last_write_status"]
            .allSatisfy { fields[$0] ?? "ok" == "ok" }
        self.isCluster = number("cluster_enabled") == 1
        self.time = fields["server_time_usec"].flatMap { Int64($0) }.map { UnixTime(milliseconds: $0 / 1000) }
    }
}
