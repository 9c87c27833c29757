/// A reply of RESP2, with its bytes copied out of the connection's buffer.
package enum RedisReply: Sendable, Hashable {
    /// `$-1` or `*-1`: there is nothing.
    case null
    case integer(Int64)
    /// A simple string such as `OK`.
    case status(String)
    case bulk([UInt8])
    case array([RedisReply])
    /// `-ERR ...`: an answer, not a fault of the connection.
    case error(RedisServerError)
}

/// An error reply: its first word names the class.
package struct RedisServerError: Error, Sendable, Hashable {
    /// The first word in Redis's spelling, e.g. `READONLY`.
    package let code: String
    /// The whole line, without the minus. It may quote arguments: not for logs.
    package let message: String

    package init(line: String) {
        self.message = line
        self.code = String(line.prefix { $0 != " " })
    }

    /// What an error reply means for whoever asked.
    package enum Class: Sendable, Hashable {
        /// `NOSCRIPT`: nothing was done, and the script's text is wanted.
        case noScript
        /// The node cannot do it now, however it is asked; another node or a later time may.
        case unavailable
        /// The node is not the one to ask (any more): another one is looked for.
        case elsewhere
        /// The gateway's user may not do this: the deployment's mistake, which ends when it is mended.
        case notPermitted
        /// Anything else, a mistake of ours included.
        case other
    }

    package var errorClass: Class {
        switch self.code {
        case "NOSCRIPT": .noScript
        case "LOADING", "MISCONF", "OOM", "NOREPLICAS", "CLUSTERDOWN", "BUSY", "MASTERDOWN", "TRYAGAIN", "UNBLOCKED",
            "NOMASTERLINK", "NOGOODSLAVE", "INPROG":
            .unavailable
        case "READONLY", "MOVED", "ASK": .elsewhere
        case "NOAUTH", "WRONGPASS", "NOPERM": .notPermitted
        default: .other
        }
    }

    /// Whether the server says this unasked and hangs up: in protected mode, or to one connection more than `maxclients`. It
    /// stands where the answer to the first command is looked for.
    package var isFarewell: Bool {
        self.code == "DENIED" || self.code == "ERR" && self.message.contains("max number of clients")
    }

    /// The codes with which a server that can be read refuses to write.
    package static let writeRefusals = ["MISCONF", "NOREPLICAS", "OOM"]

    /// Not of Redis: its replicas confirm no write, so that the gateway promises none.
    package static let unconfirmed = RedisServerError(line: "UNCONFIRMED no replica confirms what is written")

    /// The refusal to write that this is; nil: it is another error.
    ///
    /// Before Redis 7 a script's error only quotes that of its command: `ERR Error running script (...): ... -OOM ...`.
    package var writeRefusal: RedisServerError? {
        if Self.writeRefusals.contains(self.code) { return self }
        guard self.code == "ERR" else { return nil }
        return Self.writeRefusals.first { self.message.contains(" -\($0) ") }.map { RedisServerError(line: $0) }
    }
}

/// How a command failed. The difference that matters: whether Redis may have carried it out.
package enum RedisError: Error, Sendable, Hashable {
    /// It never left this process.
    case notSent(Cause)
    /// It was sent and no answer came: Redis may have carried it out, or may do so yet.
    case unanswered(Cause)
    /// Redis answered with an error.
    case server(RedisServerError)
    /// It was carried out, but no replica has confirmed it in time: it may be forgotten by a failover.
    case unreplicated
    /// The answer has a shape that the command cannot have.
    case unexpected

    /// A future's error, which is one of these wherever this module made it.
    static func of(_ error: any Error) -> RedisError { error as? RedisError ?? .unexpected }

    /// What happened to the connection.
    package enum Cause: Sendable, Hashable {
        case notConnected
        case closed
        case timedOut
        case overloaded
        case protocolError(ReplyError)
        case shuttingDown
        /// Another server is the primary, or is being made it and may not have what this one is told now.
        case replaced
        /// Most sentinels, or most primaries of a cluster, are silent: another server may be the primary.
        case cutOff
    }
}

/// Why the bytes of a connection cannot be replies that we take.
package enum ReplyError: Error, Sendable, Hashable {
    /// Not RESP2, nested deeper than hiredis goes, or over a limit on a reply's size.
    case malformed
    /// A reply that is still incomplete holds more bytes than the limit.
    case tooLarge
    /// A reply to nothing.
    case unsolicited
}
