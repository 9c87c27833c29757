import Synchronization
internal import Vocabulary

/// The epoch of every subject and which records are its own.
///
/// Its locks are innermost: a shard of records may take one while it holds its own, never the other way round.
final class SubjectDirectory: Sendable {
    /// Nobody's sessions ended yet: the epoch of a subject that is not in the directory.
    private static let firstEpoch: UInt64 = 0

    private struct Entry {
        var epoch: UInt64
        var members: Set<RecordKey> = []
        /// The latest that a record of the subject expires.
        var bornUntil: UnixTime
        /// Set once its sessions were ended: how long the epoch must be remembered without members.
        var remembered: (until: UnixTime, holdsPlace: Bool)?
    }

    private struct Part {
        var entries: [String: Entry] = [:]
        var ends = DeadlineQueue<String>()
    }

    private final class Shard: Sendable {
        let part = Mutex(Part())
    }

    private let shards: [Shard]
    private let limits: MemoryLimits

    init(shards: Int, limits: MemoryLimits) {
        self.shards = (0..<shards).map { _ in Shard() }
        self.limits = limits
    }

    private func shard(of subject: String) -> Shard {
        self.shards[Int(UInt(bitPattern: subject.hashValue) % UInt(self.shards.count))]
    }

    /// The subject's epoch now.
    func epoch(of subject: String) -> UInt64 {
        self.shard(of: subject).part.withLock { $0.entries[subject]?.epoch ?? Self.firstEpoch }
    }

    /// Enters a record of the subject that lives at most until `expiry`; the epoch it is born under.
    func join(_ subject: String, _ key: RecordKey, until expiry: UnixTime) -> UInt64 {
        self.shard(of: subject).part.withLock { part in
            var entry = part.entries.removeValue(forKey: subject) ?? Entry(epoch: Self.firstEpoch, bornUntil: expiry)
            entry.members.insert(key)
            entry.bornUntil = max(entry.bornUntil, expiry)
            let epoch = entry.epoch
            part.entries[subject] = entry
            return epoch
        }
    }

    /// Takes a record out; the subject is forgotten with its last, unless an end must be remembered.
    func leave(_ subject: String, _ key: RecordKey) {
        self.shard(of: subject).part.withLock { part in
            guard var entry = part.entries.removeValue(forKey: subject) else { return }
            entry.members.remove(key)
            if entry.members.isEmpty && entry.remembered == nil { return }
            part.entries[subject] = entry
        }
    }

    /// Moves the epoch on; the new epoch and the records that were born before it.
    func end(_ subject: String, at now: UnixTime) -> (epoch: UInt64, members: Set<RecordKey>) {
        self.shard(of: subject).part.withLock { part in
            var entry = part.entries.removeValue(forKey: subject) ?? Entry(epoch: Self.firstEpoch, bornUntil: now)
            if entry.remembered?.holdsPlace == true { self.limits.ends.giveBack() }
            let memory = self.limits.memoryOfEnd(at: now, bornUntil: entry.bornUntil)
            entry.epoch += 1
            entry.remembered = memory
            let members = entry.members
            entry.members = []
            let epoch = entry.epoch
            part.entries[subject] = entry
            part.ends.push(subject, due: memory.until)
            if part.ends.count > 2 * part.entries.count + 64 {
                self.rebuild(&part)
            }
            return (epoch, members)
        }
    }

    /// Forgets ends whose time has come, at most `limit` in each shard.
    func collect(at now: UnixTime, limit: Int) {
        for shard in self.shards {
            shard.part.withLock { part in
                var left = limit
                while left > 0, let subject = part.ends.popDue(at: now) {
                    left -= 1
                    guard var entry = part.entries[subject], let memory = entry.remembered else { continue }
                    // Ended again since: a later entry of the queue stands for it.
                    guard memory.until <= now else { continue }
                    if memory.holdsPlace { self.limits.ends.giveBack() }
                    if entry.members.isEmpty {
                        part.entries[subject] = nil
                    } else {
                        // Members of this epoch live on under it; the epoch goes with the last of them.
                        entry.remembered = nil
                        part.entries[subject] = entry
                    }
                }
            }
        }
    }

    /// One queue entry per remembered end, when a subject that ends again and again has left many.
    private func rebuild(_ part: inout Part) {
        part.ends = DeadlineQueue()
        for (subject, entry) in part.entries {
            if let memory = entry.remembered { part.ends.push(subject, due: memory.until) }
        }
    }
}
