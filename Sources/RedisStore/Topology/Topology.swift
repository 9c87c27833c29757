/// The primaries, and the hash slots that each of them serves.
package struct Topology: Sendable, Hashable {
    /// The number of hash slots of a cluster.
    package static let slotCount = 16_384

    /// One primary.
    package struct Shard: Sendable, Hashable {
        package var endpoint: RedisEndpoint
        /// The slots in ascending order.
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

    /// Creates a topology of one primary with every slot, for standalone Redis and Sentinel.
    package init(_ endpoint: RedisEndpoint) {
        self.init(shards: [Shard(endpoint: endpoint, slots: [0...UInt16(Self.slotCount - 1)])])
    }

    /// The primary with the lowest slot. All gateways use its clock.
    package var timekeeper: RedisEndpoint? {
        self.shards.min { ($0.slots.first?.lowerBound ?? .max) < ($1.slots.first?.lowerBound ?? .max) }?.endpoint
    }

    /// The number of slots that have a primary.
    package var coveredSlots: Int {
        self.shards.reduce(0) { $0 + $1.slots.reduce(0) { $0 + $1.count } }
    }
}
