internal import AddressIntelligence
package import Observability
package import Sessions
package import Vocabulary

/// What happened to a ticket between two hosts, for the audit stream and the metrics. It holds no token and no nonce.
package struct TicketRecord: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        case issued
        /// A session was made.
        case used
        /// The ticket is used up, and the browser keeps its own session of the same sign-in.
        case sessionStays
        case refused(Reason)
        /// The store could not answer.
        case unavailable
    }

    package var outcome: Outcome
    package var requestID: String
    /// The public authority of the host of the request: the one that issues, or the one on which the ticket is used.
    package var host: String
    /// The device that made the request.
    package var device: DeviceFacts
    /// The public authority of the host on which the ticket is valid.
    package var audience: String?
    package var subject: String?
    /// The public id of the session concerned: the issuing one, or the one on the other host.
    package var sessionID: String?
    /// The names of that session's token and of the ticket in the logs.
    package var fingerprint: Fingerprint?
    package var tokenFingerprint: Fingerprint?
    /// The public id of the session that issued the ticket, when it is used.
    package var parentSessionID: String?
    /// The public id of the browser's former session on the host, which ended.
    package var endedSessionID: String?

    package init(_ outcome: Outcome, requestID: String, host: String, device: DeviceFacts) {
        self.outcome = outcome
        self.requestID = requestID
        self.host = host
        self.device = device
    }

    /// The result under which the record is counted.
    package var result: HostTicketResult {
        switch self.outcome {
        case .issued: .issued
        case .used: .used
        case .sessionStays: .repeated
        case .unavailable: .storeError
        case .refused(.ticketReplayed): .replayed
        case .refused(.ticketQuarantined): .quarantined
        case .refused(.ticketThrottled): .throttled
        case .refused: .refused
        }
    }

    /// The record as a line of the audit stream; nil when the store could not answer.
    package var auditEvent: AuditEvent? {
        let kind: AuditEvent.Kind
        var code: AuditEvent.Code?
        var reason: Reason?
        switch self.outcome {
        case .issued: kind = .hostTicketIssued
        case .used, .sessionStays: (kind, code) = (.hostTicketUsed, .silentlySignedIn)
        case .refused(let why): (kind, code, reason) = (.hostTicketRefused, .warning, why)
        case .unavailable: return nil
        }
        let details: [(String, String?)] = [
            ("audience", self.audience), ("parent_session", self.parentSessionID),
            ("ended_session", self.endedSessionID), ("session_stays", self.outcome == .sessionStays ? "true" : nil),
        ]
        var event = AuditEvent(
            kind,
            code: code,
            reason: reason,
            subject: self.subject,
            session: self.sessionID,
            fingerprint: self.fingerprint,
            host: self.host,
            address: self.device.address.description,
            asn: self.device.asn,
            userAgent: self.device.userAgent,
            requestID: self.requestID,
            details: details.compactMap { name, value in value.map { (name, $0) } }
        )
        event.tokenFingerprint = self.tokenFingerprint
        return event
    }
}

/// Records what happens to tickets between hosts: counts it and writes it to the audit stream.
package struct TicketJournal: Sendable {
    private let take: @Sendable (TicketRecord) -> Bool

    /// A journal that passes every record to `take`, which returns whether it was kept.
    package init(_ take: @escaping @Sendable (TicketRecord) -> Bool) {
        self.take = take
    }

    /// A journal that counts in `metrics` and writes to `audit`.
    package init(audit: AuditStream, metrics: MetricsRegistry) {
        let counters = Dictionary(
            uniqueKeysWithValues: HostTicketResult.allCases.map { result in
                (result, metrics.counter(MetricNames.hostTickets, result.rawValue))
            }
        )
        self.take = { record in
            if let counter = counters[record.result] { metrics.increment(counter) }
            return record.auditEvent.map { audit.emit($0) } ?? true
        }
    }

    /// Keeps a record; never waits.
    ///
    /// - Returns: false when it could not be kept and the configuration forbids unrecorded acts (`log.audit_on_full:
    ///   refuse`).
    @discardableResult
    func record(_ record: TicketRecord) -> Bool { self.take(record) }
}
