import Observability
import Providers

/// Counts the calls to the provider, which are rare enough for the registry's own lock.
struct MeteredTransport: ProviderTransport {
    private enum Result: String, CaseIterable {
        case ok, refused, failed, error
    }

    private let transport: any ProviderTransport
    private let registry: MetricsRegistry

    init(_ transport: any ProviderTransport, _ registry: MetricsRegistry) {
        self.transport = transport
        self.registry = registry
        // So that each is a series from the start.
        for purpose in ProviderCall.Purpose.allCases {
            for result in Result.allCases { _ = self.counter(purpose, result) }
            _ = self.duration(purpose)
        }
    }

    private func counter(_ purpose: ProviderCall.Purpose, _ result: Result) -> CounterID {
        self.registry.counter(MetricNames.providerCalls, purpose.rawValue, result.rawValue)
    }

    private func duration(_ purpose: ProviderCall.Purpose) -> HistogramID {
        self.registry.histogram(MetricNames.providerCallDuration, purpose.rawValue)
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
        self.registry.increment(self.counter(call.purpose, result))
        let (seconds, attoseconds) = (ContinuousClock.now - began).components
        self.registry.observe(
            self.duration(call.purpose),
            nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        )
    }
}
