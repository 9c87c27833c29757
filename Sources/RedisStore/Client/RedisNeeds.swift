/// What the gateway's user must be allowed to do in Redis. `deploy/redis/users.acl` grants exactly this, and
/// `sallyport check --network` tries it.
package enum RedisNeeds {
    /// One command, in the ACL's spelling, with a form of it that changes nothing that anybody could miss.
    package struct Command: Sendable, Hashable {
        /// E.g. `client|tracking`.
        package let name: String
        /// Harmless, and every reply to it but `NOPERM` shows that it is allowed.
        package let trial: RedisCommand

        init(_ name: String, _ trial: RedisCommand) {
            self.name = name
            self.trial = trial
        }
    }

    /// All keys of the gateway begin with this.
    package static let keyPrefix = "sp:"

    /// Where Redis tells of keys that changed.
    package static let channel = SubscriptionPlan.keyChannel

    /// The types of keys (`Keyspace`): an ACL that leaves one out is found by asking for each.
    package static let keyTypes = ["s", "t", "m", "i", "g", "f", "e", "l"]

    /// Commands with which requests are served, those that scripts call included.
    ///
    /// - Parameter tag: The hash tag of the keys that are tried, for a node of a cluster serves only some slots.
    package static func commands(tag: String = "check") -> [Command] {
        let key = Array("sp:l:{\(tag)}:check".utf8)
        return [
            Command("get", RedisCommand("GET", [key])),
            Command("mget", RedisCommand("MGET", [key])),
            Command("set", self.write(tag: tag)),
            Command("del", RedisCommand("DEL", [key])),
            Command("exists", RedisCommand("EXISTS", [key])),
            Command("pttl", RedisCommand("PTTL", [key])),
            Command("pexpire", RedisCommand("PEXPIRE", [key, Array("1".utf8)])),
            Command("time", RedisCommand("TIME")),
            Command("eval", RedisCommand("EVAL", "return 1", "0")),
            Command("evalsha", RedisCommand("EVALSHA", String(repeating: "0", count: 40), "0")),
            Command("info", RedisCommand("INFO", "replication")),
            Command("wait", RedisCommand("WAIT", "0", "1")),
            Command("client|id", RedisCommand("CLIENT", "ID")),
            Command("client|setname", RedisCommand("CLIENT", "SETNAME", "sallyport")),
            Command("client|tracking", RedisCommand("CLIENT", "TRACKING", "OFF")),
        ]
    }

    /// A write that is gone again after a millisecond.
    package static func write(tag: String = "check") -> RedisCommand {
        RedisCommand("SET", [Array("sp:l:{\(tag)}:check".utf8), [], Array("PX".utf8), Array("1".utf8)])
    }

    /// The same for a replica to confirm.
    static func durableWrite(tag: String) -> ScriptCall {
        ScriptCall(Self.writeNothing, keys: [Array("sp:l:{\(tag)}:check".utf8)], arguments: [])
    }

    private static let writeNothing = RedisScript("return redis.call('SET', KEYS[1], '', 'PX', '1')")

    /// One key of each type.
    package static func keys(tag: String = "check") -> [(type: String, trial: RedisCommand)] {
        self.keyTypes.map { ($0, RedisCommand("GET", [Array("sp:\($0):{\(tag)}:check".utf8)])) }
    }

    /// Last on a connection: what it subscribes to, it hears from then on.
    package static var subscription: Command {
        Command("subscribe", RedisCommand("SUBSCRIBE", self.channel))
    }

    /// What a cluster is asked for beyond this.
    package static let clusterOnly = [Command("cluster|slots", RedisCommand("CLUSTER", "SLOTS"))]

    /// What a URL with a database number needs beyond this.
    package static let databaseOnly = [Command("select", RedisCommand("SELECT", "0"))]

    /// A tag whose keys lie in one of these slots.
    package static func tag(in slots: [ClosedRange<UInt16>]) -> String? {
        guard !slots.isEmpty else { return nil }
        return (0..<200_000).lazy.map { "check\($0)" }.first { tag in
            let slot = UInt16(clamping: HashSlot.of(Array(tag.utf8)))
            return slots.contains { $0.contains(slot) }
        }
    }
}
