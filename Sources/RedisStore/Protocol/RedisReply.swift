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
    /// An error reply, `-ERR ...`. It answers a command. Most errors leave the connection usable.
    case error(RedisServerError)
}

/// An error reply. Its first word is its code.
package struct RedisServerError: Error, Sendable, Hashable {
    /// The first word in Redis's spelling, such as `READONLY`.
    package let code: String
    /// The whole line, without the minus. It may quote arguments, so it must not be logged.
    package let message: String

    package init(line: String) {
        self.message = line
        self.code = String(line.prefix { $0 != " " })
    }

    /// The meaning of an error reply for the caller.
    package enum Class: Sendable, Hashable {
        /// `NOSCRIPT`: nothing was done, and the script's text must be sent.
        case noScript
        /// The node cannot execute the command now. Another node may be able to, or this node later.
        case unavailable
        /// The node is not, or no longer, the right one. The gateway looks for another node.
        case elsewhere
        /// The gateway is not signed in, or its user lacks a right. The deployment must be corrected.
        case notPermitted
        /// Any other error, including mistakes of the gateway.
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

    /// True if the server sends this error unasked and closes the connection: in protected mode, or if `maxclients` is
    /// reached. It arrives instead of the answer to the first command.
    package var closesConnection: Bool {
        self.code == "DENIED" || self.code == "ERR" && self.message.utf8.contains("max number of clients".utf8)
    }

    /// The codes with which a server that serves reads refuses writes.
    package static let writeRefusals = ["MISCONF", "NOREPLICAS", "OOM"]

    /// The gateway's own error, not one of Redis, while no replica confirms durable writes.
    package static let unconfirmed = RedisServerError(line: "UNCONFIRMED no replica confirms what is written")

    /// The refusal to write that this error contains; `nil` if it is another error.
    ///
    /// Before Redis 7, a script's error quotes the command's error: `ERR Error running script (...): ... -OOM ...`.
    package var writeRefusal: RedisServerError? {
        if Self.writeRefusals.contains(self.code) { return self }
        guard self.code == "ERR" else { return nil }
        return Self.writeRefusals.first { self.message.utf8.contains(" -\($0) ".utf8) }.map {
            RedisServerError(line: $0)
        }
    }
}

/// The failure of a command. The cases show whether Redis may have executed the command.
package enum RedisError: Error, Sendable, Hashable {
    /// The command was not sent.
    case notSent(Cause)
    /// The command was sent and no answer came. Redis may have executed it, or may still execute it.
    case unanswered(Cause)
    /// Redis answered with an error.
    case server(RedisServerError)
    /// The command was executed, but no replica confirmed it in time. A failover may lose it.
    case unreplicated
    /// The answer has a form that Redis never returns for this command.
    case unexpected

    /// Returns a future's error as a `RedisError`. Errors that this module did not make become `unexpected`.
    static func of(_ error: any Error) -> RedisError { error as? RedisError ?? .unexpected }

    /// The event that ended the connection or prevented the sending.
    package enum Cause: Sendable, Hashable {
        case notConnected
        case closed
        case timedOut
        case overloaded
        case protocolError(ReplyError)
        case shuttingDown
        /// Another server is the primary, or is being made the primary and may not get this write.
        case replaced
        /// Most sentinels, or most primaries of a cluster, are silent: another server may be the primary.
        case cutOff
    }
}

/// The reason why the bytes of a connection are not accepted as replies.
package enum ReplyError: Error, Sendable, Hashable {
    /// The bytes are not RESP2, are nested deeper than hiredis allows, or exceed a limit on a reply's size.
    case malformed
    /// An incomplete reply has more bytes than the limit.
    case tooLarge
    /// A reply arrived, but no command was waiting for one.
    case unsolicited
}
