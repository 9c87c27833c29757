package import Observability
package import Sessions
import Vocabulary

/// Records events of providers' tokens in metrics and log. Events that concern the user's session are also audited.
package struct GrantJournal: Sendable {
    /// An event of a grant. A detail is an error code of the provider or names the failure. It never contains a token.
    package enum Event: Sendable, Equatable {
        case renewed
        /// The user's traits with these names have other values than before.
        case changed(traits: [String])
        /// The renewal had no effect: the provider gave no usable answer or asked for a pause.
        case later(detail: String)
        /// The provider has ended its grant or no longer admits the user, and the lineage has ended.
        case ended(detail: String)
        /// The refresh token may have been used, but the answer was lost. The session continues.
        case lost(detail: String)
        /// The tokens are too large to be kept.
        case tooLarge
    }

    private let take: @Sendable (Event, Session) -> Void

    /// Creates a journal that passes every event to `take`, with the session whose use caused the event.
    package init(_ take: @escaping @Sendable (Event, Session) -> Void) {
        self.take = take
    }

    /// Creates a journal that counts in `metrics`, writes to `audit` and passes every event to `log`.
    package init(
        audit: AuditStream,
        metrics: MetricsRegistry,
        log: @escaping @Sendable (Event, Session) -> Void
    ) {
        let counters = Dictionary(
            uniqueKeysWithValues: ProviderRenewalResult.allCases.map { result in
                (result, metrics.counter(MetricNames.providerRenewals, result.rawValue))
            }
        )
        self.init { event, session in
            if let id = event.result.flatMap({ counters[$0] }) { metrics.increment(id) }
            if let record = event.auditEvent(of: session) { audit.emit(record) }
            log(event, session)
        }
    }

    func note(_ event: Event, _ session: Session) {
        self.take(event, session)
    }
}

extension GrantJournal.Event {
    /// The result under which metrics count the event. `nil` if the event is not counted.
    var result: ProviderRenewalResult? {
        switch self {
        case .renewed: .renewed
        case .changed: nil
        case .later: .later
        case .ended: .ended
        case .lost: .lost
        case .tooLarge: .tooLarge
        }
    }

    /// Returns the event as a line of the audit stream. `nil` if the event does not concern the user's session.
    package func auditEvent(of session: Session) -> AuditEvent? {
        let (kind, code, reason): (AuditEvent.Kind, AuditEvent.Code?, Reason?)
        switch self {
        case .ended: (kind, code, reason) = (.sessionEnded, .loggedOut, .sessionProviderEnded)
        case .lost: (kind, code, reason) = (.sessionRenewalFailed, .warning, .sessionRenewalAmbiguous)
        case .changed: (kind, code, reason) = (.sessionTraitsChanged, nil, nil)
        case .renewed, .later, .tooLarge: return nil
        }
        var details: [(String, String)] = []
        if case .changed(let traits) = self { details = [("traits", traits.joined(separator: " "))] }
        return AuditEvent(
            kind,
            code: code,
            reason: reason,
            subject: session.subject,
            session: session.id,
            clientID: session.clientID,
            host: session.host,
            details: details
        )
    }
}
