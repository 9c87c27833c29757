package import Vocabulary

/// Which Redis it is and how it is spoken to.
package struct RedisConfiguration: Sendable, Hashable {
    /// How the servers are found.
    package enum Deployment: Sendable, Hashable {
        /// One server, which is always the primary.
        case standalone(RedisEndpoint)
        /// One primary that the sentinels name.
        case sentinel(Sentinels)
        /// Several primaries; any node tells who they are. `seeds` are asked in turn.
        case cluster(seeds: [RedisEndpoint])
    }

    /// The sentinels and what they are asked for.
    package struct Sentinels: Sendable, Hashable {
        package var endpoints: [RedisEndpoint]
        /// The name of the primary in the sentinels' configuration.
        package var primaryName: String
        /// What the sentinels themselves ask for, which is not what Redis asks for.
        package var user: String?
        package var password: Secret?

        package init(endpoints: [RedisEndpoint], primaryName: String, user: String? = nil, password: Secret? = nil) {
            self.endpoints = endpoints
            self.primaryName = primaryName
            self.user = user
            self.password = password
        }
    }

    /// What TLS needs beyond the endpoint; paths are of PEM files. Sentinels are spoken to in the same way.
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

    package var deployment: Deployment
    package var tls: TLS?
    /// The ACL user; nil with a password: Redis's `default`.
    package var user: String?
    package var password: Secret?
    /// Always 0 in a cluster.
    package var database: Int
    /// How the connections call themselves in `CLIENT LIST`; nil: not at all.
    package var clientName: String?
    /// TCP (or unix) connect, and then TLS and the handshake together: each has this long.
    package var connectTimeout: Duration
    /// From the call to the answer, queueing included.
    package var commandTimeout: Duration
    /// How long a replica has to confirm a write; Redis answers `WAIT` by then in any case.
    package var confirmationTimeout = Duration.milliseconds(50)
    package var limits: ReplyLimits

    package init(
        deployment: Deployment,
        tls: TLS? = nil,
        user: String? = nil,
        password: Secret? = nil,
        database: Int = 0,
        clientName: String? = "sallyport",
        connectTimeout: Duration = .milliseconds(250),
        commandTimeout: Duration = .milliseconds(100),
        limits: ReplyLimits = ReplyLimits()
    ) {
        self.deployment = deployment
        self.tls = tls
        self.user = user
        self.password = password
        self.database = database
        self.clientName = clientName
        self.connectTimeout = connectTimeout
        self.commandTimeout = commandTimeout
        self.limits = limits
    }

    /// True where the data is spread over several primaries, so that nodes answer `MOVED` and `ASK`.
    package var isCluster: Bool {
        if case .cluster = self.deployment { true } else { false }
    }
}

/// A command that opens a connection, before anything else is sent over it.
package struct HandshakeStep: Sendable, Hashable {
    package let command: RedisCommand
    /// Whether an error reply ends the connection.
    package let isRequired: Bool

    package init(_ command: RedisCommand, isRequired: Bool = true) {
        self.command = command
        self.isRequired = isRequired
    }
}

extension RedisConfiguration {
    /// Signs in, chooses the database, and tells the connection's name.
    package var greeting: [HandshakeStep] {
        var steps = Self.authentication(user: self.user, password: self.password)
        if self.database != 0 { steps.append(HandshakeStep(RedisCommand("SELECT", "\(self.database)"))) }
        if let name = self.clientName {
            // A courtesy to whoever reads CLIENT LIST: an ACL without it is no reason to do without Redis.
            steps.append(HandshakeStep(RedisCommand("CLIENT", "SETNAME", name), isRequired: false))
        }
        return steps
    }

    /// What opens a connection for commands. `INFO` last: a server that is loading or wants a password says so to it, and
    /// a replica shows itself, before any request depends on it.
    package var handshake: [HandshakeStep] {
        self.greeting + [HandshakeStep(RedisCommand("INFO"))]
    }

    package static func authentication(user: String?, password: Secret?) -> [HandshakeStep] {
        guard let password else { return [] }
        var arguments = [password.bytes]
        if let user { arguments.insert(Array(user.utf8), at: 0) }
        return [HandshakeStep(RedisCommand("AUTH", arguments))]
    }
}
