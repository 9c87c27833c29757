package import Observability
import Vocabulary

/// Counts the results of logout tokens, and writes failed notifications of clients to the audit stream.
package struct LogoutTokenJournal: Sendable {
    private let take: @Sendable (ClientLogoutResult, ClientSession, String) -> Void

    /// Creates a journal that passes every result and its detail to `take`. The detail of an accepted token is empty.
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
