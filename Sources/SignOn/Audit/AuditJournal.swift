package import AddressIntelligence
package import Observability

/// Counts acts and writes them to the audit stream.
package struct AuditJournal: Sendable {
    private let take: @Sendable (AuditRecord) -> Bool

    /// Creates a journal that passes every record to `take`. `take` returns false if the act must not happen.
    package init(_ take: @escaping @Sendable (AuditRecord) -> Bool) {
        self.take = take
    }

    /// Creates a journal that counts acts and writes to `audit`.
    ///
    /// - Parameter places: The database for the countries of addresses. `nil` to record no countries.
    package init(audit: AuditStream, counters: ActCounters, places: GeoDirectory? = nil) {
        self.take = { record in
            counters.count(record)
            // The act itself is the last event. If the audit stream cannot accept that event, the act must not happen.
            return record.locating(places).auditEvents.reduce(true) { _, event in audit.emit(event) }
        }
    }

    /// Records an act. Never waits.
    ///
    /// - Returns: False if the audit queue is full and `log.audit_on_full` is `refuse`. The act must then not happen.
    @discardableResult
    package func record(_ record: AuditRecord) -> Bool { self.take(record) }
}
