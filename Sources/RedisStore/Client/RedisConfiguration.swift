package import Vocabulary

/// Where Redis is and how it is spoken to.
package struct RedisConfiguration: Sendable, Hashable {
    package enum Endpoint: Sendable, Hashable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    /// What TLS needs beyond the endpoint; paths are of PEM files.
    package struct TLS: Sendable, Hashable {
        /// The authorities that may have signed the server's certificate; nil: the system's.
        package var authorityFile: String?
        /// The gateway's own certificate chain and key, for a server that asks for one.
        package var certificateFile: String?
        package var keyFile: String?
        /// The name that is asked for (SNI) and verified; nil: the endpoint's host.
        package var serverName: String?

        package init(
            authorityFile: String? = nil,
            certificateFile: String? = nil,
            keyFile: String? = nil,
            serverName: String? = nil
        ) {
            self.authorityFile = authorityFile
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.serverName = serverName
        }
    }

    package var endpoint: Endpoint
    package var tls: TLS?
    /// The ACL user; nil with a password: Redis's `default`.
    package var user: String?
    package var password: Secret?
    package var database: Int
    /// How the connections call themselves in `CLIENT LIST`; nil: not at all.
    package var clientName: String?
    /// TCP (or unix) connect, and then TLS and the handshake together: each has this long.
    package var connectTimeout: Duration
    /// From the call to the answer, queueing included.
    package var commandTimeout: Duration
    package var limits: ReplyLimits

    package init(
        endpoint: Endpoint,
        tls: TLS? = nil,
        user: String? = nil,
        password: Secret? = nil,
        database: Int = 0,
        clientName: String? = "sallyport",
        connectTimeout: Duration = .milliseconds(250),
        commandTimeout: Duration = .milliseconds(100),
        limits: ReplyLimits = ReplyLimits()
    ) {
        self.endpoint = endpoint
        self.tls = tls
        self.user = user
        self.password = password
        self.database = database
        self.clientName = clientName
        self.connectTimeout = connectTimeout
        self.commandTimeout = commandTimeout
        self.limits = limits
    }

    /// The commands that open each connection, and whether each must succeed. `PING` last: a server that is loading or
    /// wants a password says so to it, before any request depends on it.
    var handshake: [(command: RedisCommand, isRequired: Bool)] {
        var commands: [(RedisCommand, Bool)] = []
        if let password = self.password {
            var arguments = [password.bytes]
            if let user = self.user { arguments.insert(Array(user.utf8), at: 0) }
            commands.append((RedisCommand("AUTH", arguments), true))
        }
        if self.database != 0 { commands.append((RedisCommand("SELECT", "\(self.database)"), true)) }
        if let name = self.clientName {
            // A courtesy to whoever reads CLIENT LIST: an ACL without it is no reason to do without Redis.
            commands.append((RedisCommand("CLIENT", "SETNAME", name), false))
        }
        commands.append((RedisCommand("PING"), true))
        return commands
    }
}
