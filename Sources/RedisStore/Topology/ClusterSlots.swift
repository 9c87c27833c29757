/// Reads the reply to `CLUSTER SLOTS`, which every version of Redis since 3.0 supports.
package enum ClusterSlots {
    /// The limits of one reply: enough for a separate entry per slot, each with a primary and two replicas.
    static let limits = ReplyLimits(bytes: 16 << 20, elements: Topology.slotCount * 32)

    /// Returns the primaries and the slots that they serve, as one node sees them. Each entry is `[first, last,
    /// primary, replica...]`. A node is `[host, port, id, metadata...]`, and later versions of Redis may append to it.
    ///
    /// Returns `nil` if the reply is malformed, assigns a slot twice, or names no primary. Slots without a primary are
    /// left out, and so are the slots of a primary whose address is unknown.
    ///
    /// - Parameter asked: The node that answered. A node may leave out its own host.
    package static func topology(_ reply: RedisReply, from asked: RedisEndpoint) -> Topology? {
        guard case .array(let entries) = reply, entries.count <= Topology.slotCount else { return nil }
        var ranges: [(slots: ClosedRange<UInt16>, primary: RedisEndpoint?)] = []
        for entry in entries {
            guard let range = Self.range(entry, from: asked) else { return nil }
            ranges.append(range)
        }
        ranges.sort { $0.slots.lowerBound < $1.slots.lowerBound }
        guard zip(ranges, ranges.dropFirst()).allSatisfy({ $0.slots.upperBound < $1.slots.lowerBound }) else {
            return nil
        }
        // Shards are ordered by their first slots, so that equal views give equal topologies.
        var shards: [Topology.Shard] = []
        var indices: [RedisEndpoint: Int] = [:]
        for (slots, primary) in ranges {
            guard let primary else { continue }
            if let index = indices[primary] {
                shards[index].append(slots)
            } else {
                indices[primary] = shards.count
                shards.append(Topology.Shard(endpoint: primary, slots: [slots]))
            }
        }
        return shards.isEmpty ? nil : Topology(shards: shards)
    }

    private static func range(
        _ entry: RedisReply,
        from asked: RedisEndpoint
    ) -> (slots: ClosedRange<UInt16>, primary: RedisEndpoint?)? {
        let slots = Int64(0)..<Int64(Topology.slotCount)
        guard case .array(let parts) = entry, parts.count >= 3,
            case .integer(let first) = parts[0], case .integer(let last) = parts[1],
            slots.contains(first), slots.contains(last), first <= last,
            case .array(let node) = parts[2], node.count >= 2, case .integer(let port) = node[1]
        else { return nil }
        let primary: RedisEndpoint?
        switch node[0] {
        case .null: primary = Self.sameHost(as: asked, port: port)
        case .bulk(let host) where host.isEmpty: primary = Self.sameHost(as: asked, port: port)
        // `?`: the node is to be addressed by a host name, but has no host name.
        case .bulk(let host) where host.elementsEqual("?".utf8): primary = nil
        case .bulk(let host): primary = RedisEndpoint(announcedHost: host, port: Int(clamping: port))
        default: return nil
        }
        return (UInt16(first)...UInt16(last), primary)
    }

    private static func sameHost(as asked: RedisEndpoint, port: Int64) -> RedisEndpoint? {
        guard case .tcp(let host, _) = asked else { return nil }
        return RedisEndpoint(announcedHost: Array(host.utf8), port: Int(clamping: port))
    }
}

extension Topology.Shard {
    /// Appends slots that come after all slots so far.
    fileprivate mutating func append(_ range: ClosedRange<UInt16>) {
        if let last = self.slots.last, last.upperBound + 1 == range.lowerBound {
            self.slots[self.slots.count - 1] = last.lowerBound...range.upperBound
        } else {
            self.slots.append(range)
        }
    }
}
