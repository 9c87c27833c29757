/// The state of the gateway's Redis at one moment.
package struct RedisStatus: Sendable, Hashable {
    /// One primary.
    package struct Node: Sendable, Hashable {
        package let address: String
        /// How many loops have a working connection to it.
        package let connectedLoops: Int
        /// What it last reported; nil: nothing yet.
        package let facts: RedisFacts?
        /// The error for which it last refused a connection, e.g. `WRONGPASS`, or which tells its state, e.g. `BUSY`;
        /// nil once there is neither.
        package let refusal: RedisServerError?
        /// Why it refuses writes though it serves reads; nil: it takes writes, as far as is known.
        package let writeRefusal: WriteRefusal?
    }

    /// A primary's refusal to write.
    package struct WriteRefusal: Sendable, Hashable {
        /// The latest error: its code is one of `RedisServerError.writeRefusals`, or it is `unconfirmed`.
        package let error: RedisServerError
        /// When it was first seen.
        package let since: ContinuousClock.Instant
    }

    /// The number of loops of this process.
    package let loops: Int
    /// The known primaries; empty while they are still looked for.
    package let nodes: [Node]
    /// Whether the gateway hears of all sessions that end elsewhere. If not, cached sessions are read again before use.
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

/// A change between a gateway and its Redis. None of them names a key or a secret.
package enum RedisEvent: Sendable, Hashable {
    /// The first connection to this primary serves.
    case nodeUp(RedisEndpoint)
    /// The last connection to it was lost.
    case nodeDown(RedisEndpoint, RedisError.Cause)
    /// The primary accepts connections and refuses to serve.
    case refused(RedisEndpoint, RedisServerError)
    /// The primary serves and refuses writes. Reported once for each reason, not for each command.
    case writesRefused(RedisEndpoint, RedisServerError)
    /// The primary takes writes again.
    case writesTaken(RedisEndpoint)
    /// A failover or restart has happened: single-use tokens from before it are refused.
    case primaryChanged(RedisEndpoint)
    /// The primaries, or the slots that they serve, have changed.
    case topologyChanged(Topology)
    /// No replica has confirmed a write in time.
    case replicasShort(RedisEndpoint)
    /// Another server is being made the primary: durable writes are refused until that is over.
    case replacementBegun(RedisEndpoint)
    /// So many endings that a new or restarted primary had lost were written again.
    case endsRestored(RedisEndpoint, count: Int)
    /// Most sentinels, or most primaries of a cluster, are silent: nothing is read or written.
    case cutOff(Quorum)
    /// Most of them are heard again.
    case rejoined
    /// What a primary has just reported.
    case observed(RedisEndpoint, RedisFacts)
    /// The clock that all gateways share was set by a primary. Reported before that connection serves.
    case clockSet
    /// Sessions that end elsewhere are not heard of any more: cached sessions are read again before use.
    case doubted
    /// They are heard of again.
    case trusted
}
