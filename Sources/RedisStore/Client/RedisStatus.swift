/// How the gateway's Redis stands at one moment.
package struct RedisStatus: Sendable, Hashable {
    /// One primary.
    package struct Node: Sendable, Hashable {
        package let address: String
        /// How many loops have a connection to it that serves.
        package let connectedLoops: Int
        /// What it last said of itself; nil: nothing yet.
        package let facts: RedisFacts?
        /// The error for which it last refused a connection, e.g. `WRONGPASS`, or to say how it stands, e.g. `BUSY`; nil
        /// once it did neither.
        package let refusal: RedisServerError?
        /// Why it takes no writes, though it serves; nil: it does, as far as is known.
        package let writeRefusal: WriteRefusal?
    }

    /// A primary's refusal to write.
    package struct WriteRefusal: Sendable, Hashable {
        /// The latest: its code is one of `RedisServerError.writeRefusals`, or it is `unconfirmed`.
        package let error: RedisServerError
        /// When it was first seen.
        package let since: ContinuousClock.Instant
    }

    /// How many loops this process has.
    package let loops: Int
    /// The primaries that are known; none while they are still looked for.
    package let nodes: [Node]
    /// Whether everything is heard that ends elsewhere; false: cached sessions are read again before use.
    package let invalidationIsUp: Bool
    /// Set while most sentinels, or most primaries of a cluster, are silent (`QuorumWatch`).
    package let cutOff: CutOff?

    /// Most sentinels, or most primaries of a cluster, are silent. Nothing is read or written meanwhile.
    package struct CutOff: Sendable, Hashable {
        package let quorum: Quorum
        /// When it was noticed.
        package let since: ContinuousClock.Instant
    }

    /// Whether every loop can reach every primary, and each of those serves.
    package var isConnected: Bool {
        !self.nodes.isEmpty && self.nodes.allSatisfy { $0.connectedLoops == self.loops && $0.refusal == nil }
    }
}

/// What changes between a gateway and its Redis. None of it names a key or a secret.
package enum RedisEvent: Sendable, Hashable {
    /// The first connection to this primary serves.
    case nodeUp(RedisEndpoint)
    /// The last connection to it was lost.
    case nodeDown(RedisEndpoint, RedisError.Cause)
    /// It takes connections and refuses to serve them.
    case refused(RedisEndpoint, RedisServerError)
    /// It serves, and refuses to write. Told once for each reason, not for each command.
    case writesRefused(RedisEndpoint, RedisServerError)
    /// It takes writes again.
    case writesTaken(RedisEndpoint)
    /// Another reign has begun (a failover, a restart): single-use tokens of the former one are refused.
    case primaryChanged(RedisEndpoint)
    /// The primaries, or which slots they serve, have changed.
    case topologyChanged(Topology)
    /// No replica has confirmed a write in time.
    case replicasShort(RedisEndpoint)
    /// Another server is being made the primary: what must outlive that is refused until it is over.
    case replacementBegun(RedisEndpoint)
    /// So many ends that a new or restarted primary had forgotten were written again.
    case endsRestored(RedisEndpoint, count: Int)
    /// Most sentinels, or most primaries of a cluster, are silent: nothing is read or written.
    case cutOff(Quorum)
    /// Most of them are heard again.
    case rejoined
    /// What a primary has just said of itself.
    case observed(RedisEndpoint, RedisFacts)
    /// What ends elsewhere is not heard any more: cached sessions are read again before use.
    case doubted
    /// It is heard again.
    case trusted
}
