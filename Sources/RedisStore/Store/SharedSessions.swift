import Sessions
import Synchronization
import Vocabulary

/// The sessions that the caches of event loops hold, each stored once for all loops.
final class SharedSessions: Sendable {
    private struct Part {
        var held: [RecordKey: Stored<Session>] = [:]
        /// The count at which sessions that no loop holds are dropped.
        var limit = Self.leastLimit

        static let leastLimit = 64

        /// Drops the sessions that no loop holds. Weak references would also do so, but slow down reference counting.
        mutating func dropUnheld() {
            var unheld: [RecordKey] = []
            // A loop over `indices` would hold a second reference to the table, and the access to `values` would copy
            // the table.
            var index = self.held.startIndex
            while index != self.held.endIndex {
                if isKnownUniquelyReferenced(&self.held.values[index]) { unheld.append(self.held[index].key) }
                self.held.formIndex(after: &index)
            }
            for key in unheld { self.held[key] = nil }
            self.limit = max(Self.leastLimit, self.held.count + self.held.count / 4)
        }
    }

    private final class Shard: Sendable {
        let part = Mutex(Part())
    }

    private let shards = (0..<64).map { _ in Shard() }

    /// Returns the session that the loops hold in this version; `nil` if no loop does, so the record must be opened.
    ///
    /// - Parameter usedAt: The time of the last use, as it was just read.
    func held(_ key: RecordKey, _ version: RecordVersion, usedAt: UnixTime) -> Stored<Session>? {
        let held = self.shard(of: key).part.withLock { $0.held[key] }
        guard let held, held.version == version else { return nil }
        held.noteUse(at: usedAt)
        return held
    }

    /// Returns the session that the loops hold in the version of `read`; if none exists, keeps and returns `read`.
    func shared(_ read: Stored<Session>, under key: RecordKey) -> Stored<Session> {
        self.shard(of: key).part.withLock { part in
            if let held = part.held[key], held.version == read.version { return held }
            if part.held.count >= part.limit { part.dropUnheld() }
            part.held[key] = read
            return read
        }
    }

    private func shard(of key: RecordKey) -> Shard {
        self.shards[Int(UInt(bitPattern: key.hashValue) % UInt(self.shards.count))]
    }
}
