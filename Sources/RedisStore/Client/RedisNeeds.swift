/// The rights that the gateway's Redis user needs. `deploy/redis/users.acl` grants exactly these rights, and `sallyport
/// check --network` tests each right.
package enum RedisNeeds {
    /// A command that the gateway uses, with a harmless form that tests whether the ACL allows it.
    package struct Command: Sendable, Hashable {
        /// The name as ACL rules spell it, such as `client|tracking`.
        package let name: String
        /// The harmless form of the command. Every reply except `NOPERM` shows that the command is allowed.
        package let trial: RedisCommand
        /// The purpose of an optional command; `nil` if the command is required.
        package let optionalUse: OptionalUse?

        init(_ name: String, _ trial: RedisCommand, for optionalUse: OptionalUse? = nil) {
            self.name = name
            self.trial = trial
            self.optionalUse = optionalUse
        }
    }

    /// The purpose of an optional command. Only operators notice if the command is denied.
    package enum OptionalUse: String, Sendable, CaseIterable {
        /// Connections have a name in `CLIENT LIST`.
        case name
        /// Operators can find all sessions, not only the sessions of a given user or address.
        case sessions
    }

    /// One type of keys, with commands that test the rights to it without changing the gateway's keys.
    package struct KeyType: Sendable, Hashable {
        /// The pattern in an ACL's rule, such as `sp:s:*`.
        package let pattern: String
        /// A command that needs the right to read these keys.
        package let read: RedisCommand
        /// A command that needs the right to write these keys. Its key does not exist.
        package let write: RedisCommand
    }

    /// The prefix of all keys of the gateway.
    package static let keyPrefix = "sp:"

    /// The types of keys (`Keyspace`). The rights to each type are tested, because an ACL may lack one type.
    package static let keyTypes = [
        "s", "t", "h", "p", "w", "b", "v", "j", "k", "n", "x", "a", "q", "r", "z",
        "m", "i", "g", "f", "e", "u", "l", "o", "c", "d", "y",
    ]

    /// The channels on which sentinels announce failovers. One command subscribes to all of them, so it fails if the
    /// user lacks the right to one channel.
    package static var sentinelChannels: [String] { SentinelTopology.channels }

    /// Returns the commands that serve requests, including those that scripts call.
    ///
    /// - Parameter tag: The hash tag of the test keys. A node of a cluster serves only some slots.
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
            Command("append", RedisCommand("APPEND", [key, []]), for: .sessions),
            Command("getrange", RedisCommand("GETRANGE", [key, Array("0".utf8), Array("0".utf8)]), for: .sessions),
            Command("strlen", RedisCommand("STRLEN", [key]), for: .sessions),
            Command("time", RedisCommand("TIME")),
            Command("eval", RedisCommand("EVAL", "return 1", "0")),
            Command("evalsha", RedisCommand("EVALSHA", String(repeating: "0", count: 40), "0")),
            Command("info", RedisCommand("INFO", "replication")),
            Command("wait", RedisCommand("WAIT", "0", "1")),
            Command("client|id", RedisCommand("CLIENT", "ID")),
            Command("client|setname", RedisCommand("CLIENT", "SETNAME", "sallyport"), for: .name),
            Command("client|tracking", RedisCommand("CLIENT", "TRACKING", "OFF")),
        ]
    }

    /// Returns a `SET` of a key that expires after a millisecond.
    package static func write(tag: String = "check") -> RedisCommand {
        RedisCommand("SET", [Array("sp:l:{\(tag)}:check".utf8), [], Array("PX".utf8), Array("1".utf8)])
    }

    /// Returns a script call that sets a key for one millisecond. If there are replicas, one must confirm the write.
    static func durableWrite(tag: String) -> ScriptCall {
        ScriptCall(Self.writeNothing, keys: [Array("sp:l:{\(tag)}:check".utf8)], arguments: [])
    }

    private static let writeNothing = RedisScript("return redis.call('SET', KEYS[1], '', 'PX', '1')")

    /// Returns all types of keys, with the commands that test the rights to them.
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

    /// The `SUBSCRIBE` command. It must come last on its connection: afterwards, the connection only receives messages.
    package static var subscription: Command {
        Command("subscribe", RedisCommand("SUBSCRIBE", SubscriptionPlan.keyChannel))
    }

    /// The additional commands for a cluster.
    package static let clusterOnly = [
        Command("cluster|slots", RedisCommand("CLUSTER", "SLOTS")),
        // `ASKING` only affects the next command, and only if the command's slot is being moved.
        Command("asking", RedisCommand("ASKING")),
    ]

    /// The additional command for a URL with a database number.
    package static let databaseOnly = [Command("select", RedisCommand("SELECT", "0"))]

    /// Returns a hash tag that places keys in one of these slots; `nil` if no such tag is found.
    package static func tag(in slots: [ClosedRange<UInt16>]) -> String? {
        guard !slots.isEmpty else { return nil }
        return (0..<200_000).lazy.map { "check\($0)" }.first { tag in
            let slot = UInt16(clamping: HashSlot.of(Array(tag.utf8)))
            return slots.contains { $0.contains(slot) }
        }
    }
}
