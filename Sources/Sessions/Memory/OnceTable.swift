import Synchronization
import Vocabulary

/// The ids that were presented once, until their lifetimes end. No id is evicted early.
final class OnceTable: Sendable {
    /// An id and its hash, which is slow to compute and needed several times.
    private struct Key: Sendable, Hashable {
        let id: OnceID
        let value: Int

        init(_ id: OnceID) {
            self.id = id
            self.value = id.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
    }

    private struct Part {
        var seen: [Key: UnixTime] = [:]
        var deadlines = DeadlineQueue<Key>()

        mutating func collect(at now: UnixTime, limit: Int, places: Places) {
            var left = limit
            while left > 0, let id = self.deadlines.popDue(at: now) {
                left -= 1
                // If the id was presented again after its expiry, the queue has a later entry for it.
                guard let until = self.seen[id], until <= now else { continue }
                self.seen[id] = nil
                places.giveBack()
            }
        }
    }

    private final class Shard: Sendable {
        let part = Mutex(Part())
    }

    private let shards: [Shard]
    private let places: Places
    /// The number of expired ids that each new id removes.
    private static let collectedPerEntry = 4

    init(shards: Int, places: Places) {
        self.shards = (0..<shards).map { _ in Shard() }
        self.places = places
    }

    /// Adds the id until `end`. Returns false if the id is present.
    func enter(_ id: OnceID, until end: UnixTime, at now: UnixTime) throws(StoreError) -> Bool {
        let id = Key(id)
        let shard = self.shards[Int(UInt(bitPattern: id.value) % UInt(self.shards.count))]
        return try shard.part.withLock { (part) throws(StoreError) in
            part.collect(at: now, limit: Self.collectedPerEntry, places: self.places)
            if let until = part.seen.updateValue(end, forKey: id) {
                // An expired id is still in the table. The new entry takes over its place.
                guard now >= until else {
                    part.seen[id] = until
                    return false
                }
            } else if !self.places.take() {
                part.seen[id] = nil
                throw .full
            }
            part.deadlines.push(id, due: end)
            return true
        }
    }

    /// Removes expired ids, at most `limit` in each shard.
    func collect(at now: UnixTime, limit: Int) {
        for shard in self.shards {
            shard.part.withLock { $0.collect(at: now, limit: limit, places: self.places) }
        }
    }
}
