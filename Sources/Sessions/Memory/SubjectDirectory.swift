import Synchronization
internal import Vocabulary

/// The epoch of every subject, and the records of each subject. An epoch is the time at which it began, in milliseconds.
///
/// Its locks are innermost: a shard of records may take one while it holds its own, never the reverse.
final class SubjectDirectory: Sendable {
    /// The epoch of a subject that is not in the directory: its sessions were never ended.
    private static let firstEpoch: UInt64 = 0
    /// The minimum time for which an end is remembered: as long as a provider usually lets a token live. Tokens that the
    /// gateway has not seen are judged by it (`ForeignSessions`).
    private static let leastMemory = Duration.seconds(86_400)

    private struct Entry {
        var epoch: UInt64
        var members: Set<RecordKey> = []
        /// The latest time at which a record of the subject expires.
        var bornUntil: UnixTime
        /// Set when the subject's sessions were ended: how long the epoch must be remembered without members.
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

    /// The subject's current epoch.
    func epoch(of subject: String) -> UInt64 {
        self.shard(of: subject).part.withLock { $0.entries[subject]?.epoch ?? Self.firstEpoch }
    }

    /// The keys of the subject's records, in no order.
    func members(of subject: String) -> Set<RecordKey> {
        self.shard(of: subject).part.withLock { $0.entries[subject]?.members ?? [] }
    }

    /// Adds a record of the subject that lives at most until `expiry`, and returns the epoch under which it is written.
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

    /// Removes a record. The subject is forgotten with its last record, unless an end must be remembered.
    func leave(_ subject: String, _ key: RecordKey) {
        self.shard(of: subject).part.withLock { part in
            guard var entry = part.entries.removeValue(forKey: subject) else { return }
            entry.members.remove(key)
            if entry.members.isEmpty && entry.remembered == nil { return }
            part.entries[subject] = entry
        }
    }

    /// Raises the epoch; returns the new epoch and the records written under earlier ones.
    func end(_ subject: String, at now: UnixTime) -> (epoch: UInt64, members: Set<RecordKey>) {
        self.shard(of: subject).part.withLock { part in
            var entry = part.entries.removeValue(forKey: subject) ?? Entry(epoch: Self.firstEpoch, bornUntil: now)
            if entry.remembered?.holdsPlace == true { self.limits.ends.giveBack() }
            let memory = self.limits.memoryOfEnd(
                at: now,
                bornUntil: max(entry.bornUntil, now.advanced(by: Self.leastMemory))
            )
            entry.epoch = max(entry.epoch + 1, UInt64(clamping: now.milliseconds))
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

    /// Forgets ends whose time has passed, at most `limit` in each shard.
    func collect(at now: UnixTime, limit: Int) {
        for shard in self.shards {
            shard.part.withLock { part in
                var left = limit
                while left > 0, let subject = part.ends.popDue(at: now) {
                    left -= 1
                    guard var entry = part.entries[subject], let memory = entry.remembered else { continue }
                    // The subject's sessions were ended again since; a later entry of the queue covers that.
                    guard memory.until <= now else { continue }
                    if memory.holdsPlace { self.limits.ends.giveBack() }
                    if entry.members.isEmpty {
                        part.entries[subject] = nil
                    } else {
                        // Records of the current epoch remain; the epoch is forgotten with the last of them.
                        entry.remembered = nil
                        part.entries[subject] = entry
                    }
                }
            }
        }
    }

    /// Reduces the queue to one entry for each remembered end, when repeated ends of a subject have left many.
    private func rebuild(_ part: inout Part) {
        part.ends = DeadlineQueue()
        for (subject, entry) in part.entries {
            if let memory = entry.remembered { part.ends.push(subject, due: memory.until) }
        }
    }
}
