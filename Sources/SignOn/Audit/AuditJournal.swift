package import AddressIntelligence
package import Observability

/// Records acts: counts them and writes them to the audit stream.
package struct AuditJournal: Sendable {
    private let take: @Sendable (AuditRecord) -> Bool

    /// A journal that passes every record to `take`, which returns whether it was kept.
    package init(_ take: @escaping @Sendable (AuditRecord) -> Bool) {
        self.take = take
    }

    /// A journal that counts and writes to `audit`.
    ///
    /// - Parameter places: Tells the countries of addresses; nil: the lines do not have them.
    package init(audit: AuditStream, counters: ActCounters, places: GeoDirectory? = nil) {
        self.take = { record in
            counters.count(record)
            // The last event is the act itself: if it cannot be written, the act must not happen.
            return record.locating(places).auditEvents.reduce(true) { _, event in audit.emit(event) }
        }
    }

    /// Keeps a record; never waits.
    ///
    /// - Returns: false when it could not be kept and the configuration forbids unrecorded acts (`log.audit_on_full:
    ///   refuse`).
    @discardableResult
    package func record(_ record: AuditRecord) -> Bool { self.take(record) }
}
