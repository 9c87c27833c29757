/// The state of the gateway's Redis at one moment.
package struct RedisStatus: Sendable, Hashable {
    /// One primary.
    package struct Node: Sendable, Hashable {
        package let address: String
        /// The number of loops with a usable connection to the primary.
        package let connectedLoops: Int
        /// The facts that the primary last reported; `nil` if it has reported no facts.
        package let facts: RedisFacts?
        /// The error with which the primary last refused a connection (such as `WRONGPASS`) or reported that it cannot
        /// serve (such as `BUSY`); `nil` if it serves.
        package let refusal: RedisServerError?
        /// The reason why the primary refuses writes but serves reads; `nil` if it accepts writes, as far as is known.
        package let writeRefusal: WriteRefusal?
    }

    /// A primary's refusal to write.
    package struct WriteRefusal: Sendable, Hashable {
        /// The latest error: one with a code of `RedisServerError.writeRefusals`, or `RedisServerError.unconfirmed`.
        package let error: RedisServerError
        /// The time when the refusal was first seen.
        package let since: ContinuousClock.Instant
    }

    /// The number of loops of this process.
    package let loops: Int
    /// The known primaries; empty before they are found.
    package let nodes: [Node]
    /// True while the ends of sessions at other gateways are received. If false, cached sessions are read again before
    /// use.
    package let invalidationIsUp: Bool
    /// The cut-off, while most sentinels, or most primaries of a cluster, are silent (`QuorumWatch`); otherwise `nil`.
    package let cutOff: CutOff?

    /// The silence of most sentinels, or of most primaries of a cluster. While it lasts, nothing is read or written.
    package struct CutOff: Sendable, Hashable {
        package let quorum: Quorum
        /// The time when the silence was noticed.
        package let since: ContinuousClock.Instant
    }

    /// True if every loop has a usable connection to every primary, and every primary serves.
    package var isConnected: Bool {
        !self.nodes.isEmpty && self.nodes.allSatisfy { $0.connectedLoops == self.loops && $0.refusal == nil }
    }
}

/// An event at the gateway's Redis servers. No event contains a key or a secret.
package enum RedisEvent: Sendable, Hashable {
    /// The first connection to this primary is usable.
    case nodeUp(RedisEndpoint)
    /// The last connection to this primary was lost.
    case nodeDown(RedisEndpoint, RedisError.Cause)
    /// A server (a primary, a cluster node or a sentinel) refuses a connection, a sign-in, a subscription or a query.
    case refused(RedisEndpoint, RedisServerError)
    /// The primary serves reads but refuses writes. Reported once per reason, not per command.
    case writesRefused(RedisEndpoint, RedisServerError)
    /// The primary accepts writes again.
    case writesAccepted(RedisEndpoint)
    /// A new reign has begun, usually by a failover or restart. Single-use tokens from before it are rejected.
    case primaryChanged(RedisEndpoint)
    /// The primaries, or the slots that they serve, have changed, or a cluster's are first known.
    case topologyChanged(Topology)
    /// No replica has confirmed a write in time.
    case replicasShort(RedisEndpoint)
    /// Another server is being made the primary. Durable writes are rejected until the promotion is over.
    case replacementBegun(RedisEndpoint)
    /// Ends of sessions that a new or restarted primary had lost were written again. `count` is their number.
    case endsRestored(RedisEndpoint, count: Int)
    /// Most sentinels, or most primaries of a cluster, are silent. Nothing is read or written.
    case cutOff(Quorum)
    /// Most sentinels, or most primaries of a cluster, are heard again.
    case rejoined
    /// The facts that a primary has just reported.
    case observed(RedisEndpoint, RedisFacts)
    /// A primary set the clock that all gateways share. At a new connection, reported before the connection is used.
    case clockSet
    /// Ends of sessions at other gateways are no longer received. Cached sessions are read again before use.
    case doubted
    /// Ends of sessions at other gateways are received again.
    case trusted
}
