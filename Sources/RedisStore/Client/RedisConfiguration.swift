package import Vocabulary

/// Which Redis is used, and how.
package struct RedisConfiguration: Sendable, Hashable {
    /// How the servers are found.
    package enum Deployment: Sendable, Hashable {
        /// One server, which is always the primary.
        case standalone(RedisEndpoint)
        /// One primary, which the sentinels name.
        case sentinel(Sentinels)
        /// Several primaries. Any node names them; the `seeds` are asked in turn.
        case cluster(seeds: [RedisEndpoint])
    }

    /// The sentinels and what they need.
    package struct Sentinels: Sendable, Hashable {
        package var endpoints: [RedisEndpoint]
        /// The name of the primary in the sentinels' configuration.
        package var primaryName: String
        /// The credentials for the sentinels, which differ from those for Redis.
        package var user: String?
        package var password: Secret?
    }

    /// What TLS needs besides the endpoint. Paths are of PEM files. Sentinels use the same.
    package struct TLS: Sendable, Hashable {
        /// The authorities for the server's certificate; nil: the system's.
        package var authorityFile: String?
        /// The gateway's own certificate chain and key, for a server that asks for one.
        package var certificateFile: String?
        package var keyFile: String?
        /// The name that is sent (SNI) and verified; nil: the endpoint's host.
        package var serverName: String?
    }

    package var deployment: Deployment
    package var tls: TLS?
    /// The ACL user; nil with a password: Redis's user `default`.
    package var user: String?
    package var password: Secret?
    /// Always 0 in a cluster.
    package var database = 0
    /// The name of the connections in `CLIENT LIST`; nil: none.
    package var clientName: String? = "sallyport"
    /// Applies once to the TCP (or unix) connect, and once more to TLS and the handshake together.
    package var connectTimeout = Duration.milliseconds(250)
    /// From the call to the answer, including the time in the queue.
    package var commandTimeout = Duration.milliseconds(100)
    /// How long a replica may take to confirm a write. Redis answers `WAIT` after this time in any case.
    package var confirmationTimeout = Duration.milliseconds(50)
    /// After this long without a byte the subscription to endings asks the server for a sign of life, and again after
    /// each further interval.
    package var signInterval = Duration.seconds(1)
    /// After this long without a byte the subscription to endings counts as lost.
    package var silencePatience = Duration.seconds(3)
    package var limits = ReplyLimits()

    /// Whether the data is spread over several primaries, so that nodes may answer `MOVED` and `ASK`.
    package var isCluster: Bool {
        if case .cluster = self.deployment { true } else { false }
    }
}

extension RedisConfiguration {
    /// Takes over the users and passwords of another configuration, for Redis and for its sentinels.
    package mutating func adoptCredentials(of other: RedisConfiguration) {
        (self.user, self.password) = (other.user, other.password)
        if case .sentinel(var own) = self.deployment, case .sentinel(let others) = other.deployment {
            (own.user, own.password) = (others.user, others.password)
            self.deployment = .sentinel(own)
        }
    }

    /// Whether both configurations differ in users and passwords at most.
    package func isSame(apartFromCredentials other: RedisConfiguration) -> Bool {
        var same = other
        same.adoptCredentials(of: self)
        return same == self
    }

    /// Signs in at a sentinel, which has no databases and has credentials of its own.
    package var sentinelGreeting: [HandshakeStep] {
        guard case .sentinel(let sentinels) = self.deployment else { return [] }
        return Self.authentication(user: sentinels.user, password: sentinels.password)
    }

    /// Signs in, selects the database, and names the connection.
    package var greeting: [HandshakeStep] {
        var steps = Self.authentication(user: self.user, password: self.password)
        if self.database != 0 { steps.append(HandshakeStep(RedisCommand("SELECT", "\(self.database)"))) }
        if let name = self.clientName {
            // The name only helps readers of CLIENT LIST. An ACL that forbids it does not stop the gateway.
            steps.append(HandshakeStep(RedisCommand("CLIENT", "SETNAME", name), isRequired: false))
        }
        return steps
    }

    /// What opens a connection for commands. `INFO` comes last: a server that is loading, wants a password or is a
    /// replica shows it there, before any request depends on it.
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
