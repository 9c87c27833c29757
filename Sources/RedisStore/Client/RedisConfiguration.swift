package import Vocabulary

/// The Redis deployment that the gateway uses, with its credentials and time limits.
package struct RedisConfiguration: Sendable, Hashable {
    /// The way in which the servers are found.
    package enum Deployment: Sendable, Hashable {
        /// One server. It is always the primary.
        case standalone(RedisEndpoint)
        /// One primary. The sentinels name it.
        case sentinel(Sentinels)
        /// Several primaries. Any node names them. The `seeds` are asked in turn.
        case cluster(seeds: [RedisEndpoint])
    }

    /// The sentinels, and how to sign in at them.
    package struct Sentinels: Sendable, Hashable {
        package var endpoints: [RedisEndpoint]
        /// The name of the primary in the sentinels' configuration.
        package var primaryName: String
        /// The ACL user at the sentinels. Sentinels have separate users and passwords.
        package var user: String?
        package var password: Secret?
    }

    /// The TLS settings, also for sentinels. Files are PEM files.
    package struct TLS: Sendable, Hashable {
        /// The authorities for the server's certificate. `nil` for the system's authorities.
        package var authorityFile: String?
        /// The gateway's certificate chain, for a server that requires a client certificate. `keyFile` has the key.
        package var certificateFile: String?
        package var keyFile: String?
        /// The name that is sent (SNI) and verified. `nil` for the endpoint's host.
        package var serverName: String?
    }

    package var deployment: Deployment
    package var tls: TLS?
    /// The ACL user. `nil` for Redis's user `default`.
    package var user: String?
    package var password: Secret?
    /// The number of the database. Always 0 in a cluster.
    package var database = 0
    /// The name of the connections in `CLIENT LIST`. `nil` if they have no name.
    package var clientName: String? = "sallyport"
    /// The timeout for the TCP (or unix) connect, and again for TLS and the handshake together.
    package var connectTimeout = Duration.milliseconds(250)
    /// The time limit from the call to the answer, including the time in the queue, but not the wait for a replica's
    /// confirmation.
    package var commandTimeout = Duration.milliseconds(100)
    /// The time in which a replica may confirm a write. Redis answers `WAIT` after this time in any case.
    package var confirmationTimeout = Duration.milliseconds(50)
    /// The time without a byte after which the subscription to ended sessions asks the server for a sign of life, and
    /// the interval at which it asks again.
    package var signInterval = Duration.seconds(1)
    /// The time without a byte after which the subscription to ended sessions is treated as lost.
    package var silencePatience = Duration.seconds(3)
    package var limits = ReplyLimits()

    /// True if the data is spread over several primaries, so that nodes may answer `MOVED` and `ASK`.
    package var isCluster: Bool {
        if case .cluster = self.deployment { true } else { false }
    }
}

extension RedisConfiguration {
    /// Adopts the users and passwords of another configuration, for Redis and for its sentinels.
    package mutating func adoptCredentials(of other: RedisConfiguration) {
        (self.user, self.password) = (other.user, other.password)
        if case .sentinel(var own) = self.deployment, case .sentinel(let others) = other.deployment {
            (own.user, own.password) = (others.user, others.password)
            self.deployment = .sentinel(own)
        }
    }

    /// Returns whether the configurations are equal apart from users and passwords.
    package func isSame(apartFromCredentials other: RedisConfiguration) -> Bool {
        var same = other
        same.adoptCredentials(of: self)
        return same == self
    }

    /// The steps that authenticate at a sentinel. A sentinel has no databases and has separate credentials.
    package var sentinelGreeting: [HandshakeStep] {
        guard case .sentinel(let sentinels) = self.deployment else { return [] }
        return Self.authentication(user: sentinels.user, password: sentinels.password)
    }

    /// The steps that authenticate, select the database, and name the connection.
    package var greeting: [HandshakeStep] {
        var steps = Self.authentication(user: self.user, password: self.password)
        if self.database != 0 { steps.append(HandshakeStep(RedisCommand("SELECT", "\(self.database)"))) }
        if let name = self.clientName {
            // The name only helps readers of CLIENT LIST. An ACL that denies this command does not stop the gateway.
            steps.append(HandshakeStep(RedisCommand("CLIENT", "SETNAME", name), isRequired: false))
        }
        return steps
    }

    /// The steps that open a connection for commands. `INFO` comes last: it shows that a server is loading, requires a
    /// password or is a replica before any request depends on the server.
    package var handshake: [HandshakeStep] {
        self.greeting + [HandshakeStep(RedisCommand("INFO"))]
    }

    /// Returns the `AUTH` step; empty without a password.
    package static func authentication(user: String?, password: Secret?) -> [HandshakeStep] {
        guard let password else { return [] }
        var arguments = [password.bytes]
        if let user { arguments.insert(Array(user.utf8), at: 0) }
        return [HandshakeStep(RedisCommand("AUTH", arguments))]
    }
}
