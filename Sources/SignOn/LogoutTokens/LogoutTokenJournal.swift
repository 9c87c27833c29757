package import Observability
import Vocabulary

/// Records what became of logout tokens: counts them, and writes to the audit stream which clients were not notified.
package struct LogoutTokenJournal: Sendable {
    private let take: @Sendable (ClientLogoutResult, ClientSession, String) -> Void

    /// Creates a journal that passes every result to `take`, with a detail that is empty for accepted tokens.
    package init(_ take: @escaping @Sendable (ClientLogoutResult, ClientSession, String) -> Void) {
        self.take = take
    }

    /// Creates a journal that counts in `metrics` and writes to `audit`.
    package init(audit: AuditStream, metrics: MetricsRegistry) {
        let counters = Dictionary(
            uniqueKeysWithValues: ClientLogoutResult.allCases.map { result in
                (result, metrics.counter(MetricNames.clientLogouts, result.rawValue))
            }
        )
        self.init { result, session, detail in
            if let id = counters[result] { metrics.increment(id) }
            switch result {
            case .ok, .later: break
            case .refused, .failed, .dropped: audit.emit(Self.event(result, session, detail))
            }
        }
    }

    func note(_ result: ClientLogoutResult, _ session: ClientSession, detail: String = "") {
        self.take(result, session, detail)
    }

    private static func event(_ result: ClientLogoutResult, _ session: ClientSession, _ detail: String) -> AuditEvent {
        AuditEvent(
            .clientLogoutFailed,
            code: .warning,
            subject: Realm.subject(session.userID, in: session.realm),
            session: session.sessionID,
            clientID: session.clientID,
            details: [("result", result.rawValue), ("detail", detail)]
        )
    }
}
