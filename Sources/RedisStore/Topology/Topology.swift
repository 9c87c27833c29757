/// Which primaries there are, and which hash slots each of them serves.
package struct Topology: Sendable, Hashable {
    /// How many hash slots a cluster has.
    package static let slotCount = 16_384

    /// One primary.
    package struct Shard: Sendable, Hashable {
        package var endpoint: RedisEndpoint
        /// In ascending order.
        package var slots: [ClosedRange<UInt16>]

        package init(endpoint: RedisEndpoint, slots: [ClosedRange<UInt16>]) {
            self.endpoint = endpoint
            self.slots = slots
        }
    }

    package var shards: [Shard]

    package init(shards: [Shard]) {
        self.shards = shards
    }

    /// One primary with every slot: standalone and Sentinel.
    package init(_ endpoint: RedisEndpoint) {
        self.init(shards: [Shard(endpoint: endpoint, slots: [0...UInt16(Self.slotCount - 1)])])
    }

    /// The primary whose clock counts: the one that serves the lowest slot, which all gateways see alike.
    package var timekeeper: RedisEndpoint? {
        self.shards.min { ($0.slots.first?.lowerBound ?? .max) < ($1.slots.first?.lowerBound ?? .max) }?.endpoint
    }

    /// How many slots have a primary.
    package var coveredSlots: Int {
        self.shards.reduce(0) { $0 + $1.slots.reduce(0) { $0 + $1.count } }
    }
}
