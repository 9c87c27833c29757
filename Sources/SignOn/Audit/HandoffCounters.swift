import Observability
import Sessions
import Settings
import Vocabulary

/// The counters of session-transfer tokens.
struct HandoffCounters: Sendable {
    private let metrics: MetricsRegistry
    private let results: [TransferTokenResult: CounterID]
    private let bindings: [BindingMode: [JudgedBinding.Outcome: CounterID]]
    private let wouldReject: [BindingMode: CounterID]
    private let redeemed: [HandoffTransport: CounterID]
    private let age: HistogramID
    /// Minted tokens by client, and refused tokens by reason. Each series appears with its first event.
    private let minted: CounterMemory<String>
    private let rejected: CounterMemory<Reason>

    init(_ metrics: MetricsRegistry) {
        self.metrics = metrics
        self.results = Dictionary(
            uniqueKeysWithValues: TransferTokenResult.allCases.map { result in
                (result, metrics.counter(MetricNames.transferTokens, result.rawValue))
            }
        )
        self.bindings = Dictionary(
            uniqueKeysWithValues: BindingMode.judged.map { mode in
                let results = JudgedBinding.Outcome.allCases.map { result in
                    (result, metrics.counter(MetricNames.bindingChecks, mode.rawValue, result.rawValue))
                }
                return (mode, Dictionary(uniqueKeysWithValues: results))
            }
        )
        self.wouldReject = Dictionary(
            uniqueKeysWithValues: BindingMode.judged.map {
                ($0, metrics.counter(MetricNames.bindingWouldReject, $0.rawValue, "token"))
            }
        )
        self.redeemed = Dictionary(
            uniqueKeysWithValues: HandoffTransport.allCases.map {
                ($0, metrics.counter(MetricNames.handoffRedeemed, $0.rawValue))
            }
        )
        self.age = metrics.histogram(MetricNames.handoffAge, buckets: MetricNames.handoffAgeBuckets)
        self.minted = CounterMemory { metrics.counter(MetricNames.handoffMinted, $0) }
        self.rejected = CounterMemory { metrics.counter(MetricNames.handoffRejected, $0.rawValue) }
    }

    func count(_ act: HandoffAct, _ record: AuditRecord) {
        if let id = self.results[act.result] { self.metrics.increment(id) }
        self.countOutcome(act, of: record)
        guard let binding = record.judgedBinding else { return }
        if let id = self.bindings[binding.mode]?[binding.outcome] { self.metrics.increment(id) }
        if record.passedInDryRun != nil, let id = self.wouldReject[binding.mode] { self.metrics.increment(id) }
    }

    /// Counts minted tokens by client, redeemed tokens by transport and age, and refused tokens by reason.
    private func countOutcome(_ act: HandoffAct, of record: AuditRecord) {
        switch act {
        case .minted:
            if let client = record.clientID { self.metrics.increment(self.minted[client]) }
        case .signedIn, .sessionStays:
            if let id = record.transport.flatMap({ self.redeemed[$0] }) { self.metrics.increment(id) }
            if let age = record.age {
                let nanoseconds = age.wholeMilliseconds.multipliedWithinBounds(by: 1_000_000)
                self.metrics.observe(self.age, nanoseconds: nanoseconds)
            }
        case .refused(let reason):
            self.metrics.increment(self.rejected[reason])
        case .mintRefused, .mintUnavailable, .asked, .repeated, .unavailable:
            break
        }
    }
}
