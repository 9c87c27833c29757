/// What the gateway's user must be allowed to do in Redis. `deploy/redis/users.acl` grants exactly this, and
/// `sallyport check --network` tries it.
package enum RedisNeeds {
    /// One command, in the ACL's spelling, with a form of it that changes nothing that anybody could miss.
    package struct Command: Sendable, Hashable {
        /// E.g. `client|tracking`.
        package let name: String
        /// Harmless, and every reply to it but `NOPERM` shows that it is allowed.
        package let trial: RedisCommand
        /// False: the gateway serves without it, and only the operator misses something.
        package let isRequired: Bool

        init(_ name: String, _ trial: RedisCommand, isRequired: Bool = true) {
            self.name = name
            self.trial = trial
            self.isRequired = isRequired
        }
    }

    /// The keys of one type, with commands that change none of the gateway's keys.
    package struct KeyType: Sendable, Hashable {
        /// What an ACL's rule calls them, e.g. `sp:s:*`.
        package let pattern: String
        /// Needs the right to read them.
        package let read: RedisCommand
        /// Needs the right to write them; there is no such key.
        package let write: RedisCommand
    }

    /// All keys of the gateway begin with this.
    package static let keyPrefix = "sp:"

    /// Where Redis tells of keys that changed.
    package static let channel = SubscriptionPlan.keyChannel

    /// The types of keys (`Keyspace`): an ACL that leaves one out is found by asking for each.
    package static let keyTypes = ["s", "t", "m", "i", "g", "f", "e", "l", "o", "c", "d"]

    /// Where sentinels tell of failovers. Who may not hear one of them hears none: they are asked for with one command.
    package static var sentinelChannels: [String] { SentinelTopology.channels }

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
            Command("client|setname", RedisCommand("CLIENT", "SETNAME", "sallyport"), isRequired: false),
            Command("client|tracking", RedisCommand("CLIENT", "TRACKING", "OFF")),
        ]
    }

    /// A write that is gone again after a millisecond.
    package static func write(tag: String = "check") -> RedisCommand {
        RedisCommand("SET", [Array("sp:l:{\(tag)}:check".utf8), [], Array("PX".utf8), Array("1".utf8)])
    }

    /// The same, to be confirmed by a replica.
    static func durableWrite(tag: String) -> ScriptCall {
        ScriptCall(Self.writeNothing, keys: [Array("sp:l:{\(tag)}:check".utf8)], arguments: [])
    }

    private static let writeNothing = RedisScript("return redis.call('SET', KEYS[1], '', 'PX', '1')")

    /// The keys of each type.
    package static func keys(tag: String = "check") -> [KeyType] {
        self.keyTypes.map { type in
            let key = Array("\(self.keyPrefix)\(type):{\(tag)}:check".utf8)
            return KeyType(
                pattern: "\(self.keyPrefix)\(type):*",
                read: RedisCommand("GET", [key]),
                write: RedisCommand("DEL", [key])
            )
        }
    }

    /// Last on a connection: what it subscribes to, it hears from then on.
    package static var subscription: Command {
        Command("subscribe", RedisCommand("SUBSCRIBE", self.channel))
    }

    /// What a cluster is asked for beyond this.
    package static let clusterOnly = [
        Command("cluster|slots", RedisCommand("CLUSTER", "SLOTS")),
        // It means something only in front of a command whose slot is being moved.
        Command("asking", RedisCommand("ASKING")),
    ]

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
