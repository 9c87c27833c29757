import Synchronization
import Vocabulary

/// The epochs of subjects whose sessions have ended (`SessionStore.eventualEpoch`).
///
/// A shard of records may take a lock of this directory while it holds its own lock, but not the reverse.
final class SubjectDirectory: Sendable {
    /// The epoch of a subject without an entry.
    private static let firstEpoch: UInt64 = 0
    /// The minimum time for which an end with a place is remembered: a day, the usual maximum life of a provider's
    /// token. Tokens that the gateway has not seen must be found ended, too (`ForeignSessions`).
    private static let leastMemory = Duration.seconds(86_400)

    private struct Entry {
        var epoch: UInt64
        /// The number of records with this epoch. The epoch is forgotten only when there are none.
        var members = 0
        /// The time until which the epoch is remembered even without records; `nil` if it need not be.
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

    func epoch(of subject: String) -> UInt64 {
        self.shard(of: subject).part.withLock { $0.entries[subject]?.epoch ?? Self.firstEpoch }
    }

    /// Counts a record that was written under its subject's epoch.
    func join(_ owner: RecordOwner) { self.count(owner, by: 1) }

    /// Counts a record as removed. The epoch may be forgotten with its last record.
    func leave(_ owner: RecordOwner) { self.count(owner, by: -1) }

    private func count(_ owner: RecordOwner, by change: Int) {
        guard owner.epoch != Self.firstEpoch else { return }
        self.shard(of: owner.subject).part.withLock { part in
            guard var entry = part.entries[owner.subject], entry.epoch == owner.epoch else { return }
            entry.members += change
            part.entries[owner.subject] = entry.members == 0 && entry.remembered == nil ? nil : entry
        }
    }

    /// Raises the epoch and returns it. Records of earlier epochs have ended.
    func end(_ subject: String, at now: UnixTime) -> UInt64 {
        self.shard(of: subject).part.withLock { part in
            let former = part.entries[subject]
            if former?.remembered?.holdsPlace == true { self.limits.ends.giveBack() }
            let memory = self.limits.memoryOfEnd(at: now, bornUntil: now.advanced(by: Self.leastMemory))
            let epoch = max((former?.epoch ?? Self.firstEpoch) + 1, UInt64(clamping: now.milliseconds))
            part.entries[subject] = Entry(epoch: epoch, remembered: memory)
            part.ends.push(subject, due: memory.until)
            self.dropOutdated(&part)
            return epoch
        }
    }

    /// Extends the memory of an end that holds a place to the latest expiry of the records that it ended.
    func remember(_ subject: String, _ epoch: UInt64, until: UnixTime) {
        self.shard(of: subject).part.withLock { part in
            guard var entry = part.entries[subject], entry.epoch == epoch, let memory = entry.remembered,
                memory.holdsPlace, memory.until < until
            else { return }
            entry.remembered = (until, true)
            part.entries[subject] = entry
            part.ends.push(subject, due: until)
            self.dropOutdated(&part)
        }
    }

    /// Forgets ends that need not be remembered longer, up to `limit` in each shard.
    func collect(at now: UnixTime, limit: Int) {
        for shard in self.shards {
            shard.part.withLock { part in
                var left = limit
                while left > 0, let subject = part.ends.popDue(at: now) {
                    left -= 1
                    guard var entry = part.entries[subject], let memory = entry.remembered else { continue }
                    // If the end must be remembered longer, the queue has a later entry for it.
                    guard memory.until <= now else { continue }
                    if memory.holdsPlace { self.limits.ends.giveBack() }
                    entry.remembered = nil
                    part.entries[subject] = entry.members == 0 ? nil : entry
                }
            }
        }
    }

    /// Drops outdated entries of the queue if repeated ends of subjects have left many.
    private func dropOutdated(_ part: inout Part) {
        guard part.ends.count > 2 * part.entries.count + 64 else { return }
        let entries = part.entries
        part.ends.compact { subject, due in entries[subject]?.remembered?.until == due }
    }
}
