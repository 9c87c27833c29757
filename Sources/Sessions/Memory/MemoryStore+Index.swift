package import NIOCore
import Synchronization
package import Vocabulary

/// The session index of the memory store.
extension MemoryStore {
    package func sessions(of subject: String, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        self.latest(subject.hashValue, on: loop) { $0.subject.isExactly(subject) }
    }

    package func sessions(with address: EmailAddress, on loop: any EventLoop) -> EventLoopFuture<[RecordKey]> {
        self.latest(address.hashValue, on: loop) { $0.address == address }
    }

    private func latest(
        _ hash: Int,
        on loop: any EventLoop,
        where isWanted: @Sendable (Session) -> Bool
    ) -> EventLoopFuture<[RecordKey]> {
        let limit = Self.listCapacity
        var found = self.shards.flatMap { $0.records.withLock { $0.sessions(hash, limit: limit, where: isWanted) } }
        if found.count > limit { found.sort { $0.began > $1.began } }
        return loop.makeSucceededFuture(found.prefix(limit).map(\.key))
    }

    /// The maximum number of places that one page looks at, so that a shard is locked for a short time only.
    private static let looksPerPage: Int32 = 2048

    /// Returns a page of sessions. The position is a shard and a place in it. The next page has lower places, or is
    /// in the next shard.
    package func sessions(from place: IndexPlace?, on loop: any EventLoop) -> EventLoopFuture<SessionPage> {
        let numbers = place?.numbers ?? [0, .max]
        guard numbers.count == 2, let number = Int(exactly: numbers[0]), self.shards.indices.contains(number) else {
            return loop.makeSucceededFuture(SessionPage())
        }
        let (keys, end) = self.shards[number].records.withLock {
            $0.sessions(below: numbers[1], limit: Self.pageSize, looks: Self.looksPerPage)
        }
        let isLast = end == 0 && number + 1 == self.shards.count
        let next = end > 0 ? [numbers[0], end] : [numbers[0] + 1, .max]
        return loop.makeSucceededFuture(SessionPage(keys: keys, next: isLast ? nil : IndexPlace(next)))
    }

    package func sample(on loop: any EventLoop) -> EventLoopFuture<SessionSample> {
        let places = self.shards.map { shard in shard.records.withLock { $0.places } }
        let count = places.reduce(0, +)
        guard count > Self.sampleSize else {
            let keys = zip(self.shards, places).flatMap { shard, places in
                shard.records.withLock {
                    $0.sessions(below: .max, limit: places, looks: Int32(clamping: places)).keys
                }
            }
            return loop.makeSucceededFuture(SessionSample(noted: keys.count, drawn: keys.count, keys: keys))
        }
        // A random place of all shards is chosen. It may have no session.
        var keys: [RecordKey] = []
        for _ in 0..<Self.sampleSize {
            var chosen = Int.random(in: 0..<count)
            let shard = places.firstIndex { places in
                defer { chosen -= places }
                return chosen < places
            }
            if let shard, let key = self.shards[shard].records.withLock({ $0.anySession() }) { keys.append(key) }
        }
        return loop.makeSucceededFuture(SessionSample(noted: count, drawn: Self.sampleSize, keys: keys))
    }
}
