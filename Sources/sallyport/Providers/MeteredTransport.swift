import Observability
import Providers

/// Counts the calls to the provider.
struct MeteredTransport: ProviderTransport {
    private enum Result: String, CaseIterable {
        case ok, refused, failed, error
    }

    private let transport: any ProviderTransport
    private let registry: MetricsRegistry
    private let counters: [ProviderCall.Purpose: [Result: CounterID]]
    private let durations: [ProviderCall.Purpose: HistogramID]

    init(_ transport: any ProviderTransport, _ registry: MetricsRegistry) {
        self.transport = transport
        self.registry = registry
        let purposes = ProviderCall.Purpose.allCases
        self.counters = Dictionary(
            uniqueKeysWithValues: purposes.map { purpose in
                let counters = Result.allCases.map {
                    ($0, registry.counter(MetricNames.providerCalls, purpose.rawValue, $0.rawValue))
                }
                return (purpose, Dictionary(uniqueKeysWithValues: counters))
            }
        )
        self.durations = Dictionary(
            uniqueKeysWithValues: purposes.map { purpose in
                (purpose, registry.histogram(MetricNames.providerCallDuration, purpose.rawValue))
            }
        )
    }

    func send(_ call: ProviderCall) async throws(ProviderCallError) -> ProviderAnswer {
        let began = ContinuousClock.now
        do throws(ProviderCallError) {
            let answer = try await self.transport.send(call)
            let result: Result =
                switch answer.status {
                case 200..<300: .ok
                case 500...: .failed
                default: .refused
                }
            self.count(call, result, since: began)
            return answer
        } catch {
            self.count(call, .error, since: began)
            throw error
        }
    }

    private func count(_ call: ProviderCall, _ result: Result, since began: ContinuousClock.Instant) {
        if let counter = self.counters[call.purpose]?[result] { self.registry.increment(counter) }
        guard let duration = self.durations[call.purpose] else { return }
        let (seconds, attoseconds) = (ContinuousClock.now - began).components
        self.registry.observe(duration, nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
