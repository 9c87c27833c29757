import Vocabulary

/// A reply of RESP2, with its bytes copied out of the connection's buffer.
package enum RedisReply: Sendable, Hashable {
    /// `$-1` or `*-1`: no value.
    case null
    case integer(Int64)
    /// A simple string such as `OK`.
    case status(String)
    case bulk([UInt8])
    case array([RedisReply])
    /// `-ERR ...`: an answer. The connection stays usable.
    case error(RedisServerError)
}

/// An error reply. Its first word is its code.
package struct RedisServerError: Error, Sendable, Hashable {
    /// The first word in Redis's spelling, e.g. `READONLY`.
    package let code: String
    /// The whole line, without the minus. It may quote arguments: not for logs.
    package let message: String

    package init(line: String) {
        self.message = line
        self.code = String(line.prefix { $0 != " " })
    }

    /// What an error reply means for the caller.
    package enum Class: Sendable, Hashable {
        /// `NOSCRIPT`: nothing was done; the script's text has to be sent.
        case noScript
        /// The node cannot do it now. Another node, or this one later, may.
        case unavailable
        /// The node is not (or no longer) the right one: another one is looked for.
        case elsewhere
        /// The gateway's user may not do this: the deployment has to be corrected.
        case notPermitted
        /// Anything else, including mistakes of ours.
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

    /// Whether the server sends this without being asked and closes: in protected mode, or when `maxclients` is
    /// reached. It arrives where the answer to the first command is expected.
    package var isFarewell: Bool {
        self.code == "DENIED" || self.code == "ERR" && self.message.utf8.contains("max number of clients".utf8)
    }

    /// The codes with which a server that can be read refuses to write.
    package static let writeRefusals = ["MISCONF", "NOREPLICAS", "OOM"]

    /// Not an error of Redis: no replica confirms writes, so the gateway refuses durable ones.
    package static let unconfirmed = RedisServerError(line: "UNCONFIRMED no replica confirms what is written")

    /// The refusal to write that this error is; nil when it is another error.
    ///
    /// Before Redis 7 a script's error only quotes that of its command: `ERR Error running script (...): ... -OOM ...`.
    package var writeRefusal: RedisServerError? {
        if Self.writeRefusals.contains(self.code) { return self }
        guard self.code == "ERR" else { return nil }
        return Self.writeRefusals.first { self.message.utf8.contains(" -\($0) ".utf8) }.map {
            RedisServerError(line: $0)
        }
    }
}

/// How a command failed, above all whether Redis may have carried it out.
package enum RedisError: Error, Sendable, Hashable {
    /// It was not sent.
    case notSent(Cause)
    /// It was sent and no answer came: Redis may have carried it out, or may still do so.
    case unanswered(Cause)
    /// Redis answered with an error.
    case server(RedisServerError)
    /// It was carried out, but no replica confirmed it in time: a failover may lose it.
    case unreplicated
    /// The answer has a form that this command cannot have.
    case unexpected

    /// A future's error as one of these. Errors that this module did not make become `unexpected`.
    static func of(_ error: any Error) -> RedisError { error as? RedisError ?? .unexpected }

    /// What happened to the connection.
    package enum Cause: Sendable, Hashable {
        case notConnected
        case closed
        case timedOut
        case overloaded
        case protocolError(ReplyError)
        case shuttingDown
        /// Another server is the primary, or is being made it and may not get this write.
        case replaced
        /// Most sentinels, or most primaries of a cluster, are silent: another server may be the primary.
        case cutOff
    }
}

/// Why the bytes of a connection are not accepted as replies.
package enum ReplyError: Error, Sendable, Hashable {
    /// Not RESP2, nested deeper than hiredis allows, or over a limit on a reply's size.
    case malformed
    /// An incomplete reply holds more bytes than the limit.
    case tooLarge
    /// A reply without a command.
    case unsolicited
}
