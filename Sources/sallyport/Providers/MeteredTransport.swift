import NIOCore
import Observability
import Providers
import Vocabulary

/// Counts the calls to the provider, which are rare enough for the registry's own lock, and writes those of requests that are
/// traced as spans.
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
        let began = NIODeadline.now()
        do throws(ProviderCallError) {
            let answer = try await self.transport.send(call)
            let result: Result =
                switch answer.status {
                case 200..<300: .ok
                case 500...: .failed
                default: .refused
                }
            self.count(call, result, since: began)
            self.trace(call, since: began, status: answer.status, failure: nil)
            return answer
        } catch {
            self.count(call, .error, since: began)
            self.trace(call, since: began, status: nil, failure: error.cause)
            throw error
        }
    }

    private func count(_ call: ProviderCall, _ result: Result, since began: NIODeadline) {
        self.registry.increment(self.counter(call.purpose, result))
        self.registry.observe(self.duration(call.purpose), nanoseconds: (NIODeadline.now() - began).nanoseconds)
    }

    /// Writes the call as a span of the request for which it was made. A URL's query may hold a secret, and is no part of it.
    private func trace(
        _ call: ProviderCall,
        since began: NIODeadline,
        status: Int?,
        failure: ProviderCallError.Cause?
    ) {
        guard let trace = CallTrace.current, let url = try? ProviderURL(call.url, allowsPlainHTTP: true) else { return }
        trace.note(
            TracedCall(
                .provider(method: call.method, origin: url.origin, path: url.path, status: status),
                for: call.purpose.rawValue,
                began: began.uptimeNanoseconds,
                ended: NIODeadline.now().uptimeNanoseconds,
                failure: failure?.label ?? status.flatMap { $0 >= 400 ? "\($0)" : nil }
            )
        )
    }
}
