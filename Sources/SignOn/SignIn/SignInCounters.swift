internal import Observability
internal import Rules
internal import Sessions
internal import Vocabulary

/// The counters of sign-ins, registered once. Sign-ins are rare enough for the registry's own lock.
struct SignInCounters: Sendable {
    /// The result of a sign-in that worked.
    private static let success = "ok"
    /// The refusals of a sign-in.
    private static let refusals = Reason.allCases.filter { reason in
        ["signin.", "exchange."].contains(where: reason.rawValue.hasPrefix)
            || [.providerUnavailable, .ruleDenied].contains(reason)
    }

    private let metrics: MetricsRegistry
    private let counters: [String: CounterID]

    init(_ metrics: MetricsRegistry) {
        self.metrics = metrics
        var counters: [String: CounterID] = [:]
        for kind in [Session.Kind.web, .native] {
            for result in [Self.success] + Self.refusals.map(\.rawValue) {
                counters[Self.key(kind, result)] = metrics.counter(MetricNames.signIns, kind.rawValue, result)
            }
        }
        self.counters = counters
    }

    /// Counts the record if it is about a sign-in, and what the rules said.
    func count(_ record: SignInRecord) {
        for finding in record.rules { self.metrics.countRule(finding.rule, finding.result.rawValue) }
        let result: String
        switch record.event {
        case .signedIn: result = Self.success
        case .refused(let reason): result = reason.rawValue
        case .judged, .signedOut, .denied: return
        }
        if let id = self.counters[Self.key(record.kind, result)] { self.metrics.increment(id) }
    }

    private static func key(_ kind: Session.Kind, _ result: String) -> String { "\(kind.rawValue) \(result)" }
}
