import Synchronization
import Vocabulary

/// The epochs of subjects whose sessions were ended. An epoch is the end's time in milliseconds, or a little later.
///
/// The locks are innermost: a shard of records may take one while it holds its own lock, never the reverse.
final class SubjectDirectory: Sendable {
    /// The epoch of a subject that is not in the directory, because no end of its sessions is remembered.
    private static let firstEpoch: UInt64 = 0
    /// The minimum time for which an end that holds a place is remembered: the usual maximum life of a provider's
    /// token. The end also applies to tokens that the gateway has not seen (`ForeignSessions`).
    private static let leastMemory = Duration.seconds(86_400)

    private struct Entry {
        var epoch: UInt64
        /// The number of records of this epoch. The epoch is not forgotten while it has records.
        var members = 0
        /// The time until which the epoch must be remembered even without members; `nil` if it need not be.
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

    /// Counts a record that was written under an epoch of its subject.
    func join(_ owner: RecordOwner) { self.count(owner, by: 1) }

    /// Counts a record as removed. The epoch is forgotten with its last record, unless the end must be remembered.
    func leave(_ owner: RecordOwner) { self.count(owner, by: -1) }

    private func count(_ owner: RecordOwner, by change: Int) {
        guard owner.epoch != Self.firstEpoch else { return }
        self.shard(of: owner.subject).part.withLock { part in
            guard var entry = part.entries[owner.subject], entry.epoch == owner.epoch else { return }
            entry.members += change
            part.entries[owner.subject] = entry.members == 0 && entry.remembered == nil ? nil : entry
        }
    }

    /// Raises the epoch and returns it. The records written under earlier epochs have ended.
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

    /// Remembers an end for as long as a session that it ended could have lived.
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

    /// Forgets ends whose time has passed, at most `limit` in each shard.
    func collect(at now: UnixTime, limit: Int) {
        for shard in self.shards {
            shard.part.withLock { part in
                var left = limit
                while left > 0, let subject = part.ends.popDue(at: now) {
                    left -= 1
                    guard var entry = part.entries[subject], let memory = entry.remembered else { continue }
                    // If the end is remembered for longer, a later entry of the queue covers it.
                    guard memory.until <= now else { continue }
                    if memory.holdsPlace { self.limits.ends.giveBack() }
                    entry.remembered = nil
                    part.entries[subject] = entry.members == 0 ? nil : entry
                }
            }
        }
    }

    /// Reduces the queue to one entry per remembered end, if repeated ends of a subject have left many.
    private func dropOutdated(_ part: inout Part) {
        guard part.ends.count > 2 * part.entries.count + 64 else { return }
        let entries = part.entries
        part.ends.compact { subject, due in entries[subject]?.remembered?.until == due }
    }
}
