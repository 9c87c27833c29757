package import AddressIntelligence
package import Observability

/// Records acts: counts them and writes them to the audit stream.
package struct AuditJournal: Sendable {
    private let take: @Sendable (AuditRecord) -> Bool

    /// Creates a journal that passes every record to `take`. `take` returns true if the record was kept.
    package init(_ take: @escaping @Sendable (AuditRecord) -> Bool) {
        self.take = take
    }

    /// Creates a journal that counts acts and writes to `audit`.
    ///
    /// - Parameter places: The source of the countries of addresses. `nil` if the lines contain no countries.
    package init(audit: AuditStream, counters: ActCounters, places: GeoDirectory? = nil) {
        self.take = { record in
            counters.count(record)
            // The last event is the act itself. If that event cannot be written, the act must not happen.
            return record.locating(places).auditEvents.reduce(true) { _, event in audit.emit(event) }
        }
    }

    /// Keeps a record. Never waits.
    ///
    /// - Returns: False if the record was not kept and unrecorded acts are forbidden (`log.audit_on_full: refuse`).
    @discardableResult
    package func record(_ record: AuditRecord) -> Bool { self.take(record) }
}
