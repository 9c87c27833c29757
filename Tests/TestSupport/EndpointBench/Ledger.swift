package import SignOn
import Synchronization

/// The records that the audit stream received.
package final class Ledger: Sendable {
    private let entries = Mutex<[AuditRecord]>([])
    private let isFull = Mutex(false)

    /// An empty one with room for all records.
    package init() {}

    /// What was recorded, in order.
    package var records: [AuditRecord] { self.entries.withLock { $0 } }

    /// From now on no record fits, and nothing may happen that needs one.
    package func fill() {
        self.isFull.withLock { $0 = true }
    }

    /// Writes to this.
    package var journal: AuditJournal {
        AuditJournal { record in
            if self.isFull.withLock({ $0 }) { return false }
            self.entries.withLock { $0.append(record) }
            return true
        }
    }
}
