import NIOCore
import NIOHTTP1
import NIOSSL
import Observability
import Settings
import Vocabulary

/// Sends calls over the network. Counts them, and records a span if the request is traced.
package struct HTTPCallTransport: CallTransport {
    private let client: CallClient
    private let trust: CallTrust
    private let allowsPlainHTTP: Bool
    private let proxies: OutgoingProxies
    private let registry: MetricsRegistry?

    /// - Parameters:
    ///   - allowsPlainHTTP: True to allow http for hosts other than loopback.
    ///   - registry: Counts the calls; `nil` to count nothing.
    init(
        _ client: CallClient,
        trust: CallTrust,
        allowsPlainHTTP: Bool,
        proxies: OutgoingProxies,
        registry: MetricsRegistry?
    ) {
        self.client = client
        self.trust = trust
        self.allowsPlainHTTP = allowsPlainHTTP
        self.proxies = proxies
        self.registry = registry
        guard let registry else { return }
        // All series exist from the start.
        for purpose in OutgoingCall.Purpose.allCases {
            for result in CallResult.allCases { _ = registry.calls(for: purpose, result) }
            _ = registry.durations(of: purpose)
        }
    }

    package func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        let began = NIODeadline.now()
        do throws(CallError) {
            let url: EndpointURL
            do {
                url = try EndpointURL(call.url, allowsPlainHTTP: self.allowsPlainHTTP)
            } catch {
                throw CallError(isUnsent: true, detail: "the URL of the call cannot be used: \(error)")
            }
            guard call.hasWellFormedFields else {
                let detail = "the call of \(url.host) has a field that cannot be sent"
                throw CallError(isUnsent: true, detail: detail)
            }
            guard self.client.isOpen else {
                throw CallError(CallClientEnded(), of: url.host, isUnsent: true)
            }
            var tls = url.isHTTPS ? self.trust.context : nil
            if url.isHTTPS, tls == nil {
                do {
                    tls = try await offLoop { Result { try self.trust.makeContext() } }.get()
                } catch {
                    let detail = "TLS with \(url.host) is impossible: the system has no certificates to trust"
                    throw CallError(isUnsent: true, detail: detail, cause: .tls)
                }
            }
            let (loop, connections) = (self.client.loop, self.client.connections)
            let server = CallServer(url, tls: tls, proxies: self.proxies)
            let exchange = CallExchange(call, to: server, url, on: loop)
            let answer: CallAnswer
            do {
                answer = try await withTaskCancellationHandler {
                    loop.execute { connections.value.begin(exchange) }
                    return try await exchange.answer.get()
                } onCancel: {
                    loop.execute { exchange.fail(CancellationError()) }
                }
            } catch {
                // Any other error means that the loop has ended.
                throw (error as? CallError) ?? CallError(error, of: url.host, isUnsent: true)
            }
            self.note(call, since: began, .success(answer))
            return answer
        } catch {
            self.note(call, since: began, .failure(error))
            throw error
        }
    }

    package func withhold(_ purpose: OutgoingCall.Purpose) {
        guard let registry = self.registry else { return }
        registry.increment(registry.calls(for: purpose, .withheld))
    }

    /// Counts a call, and records a span for it. The span omits the URL's query, which may contain a secret.
    private func note(
        _ call: OutgoingCall,
        since began: NIODeadline,
        _ result: Result<CallAnswer, CallError>
    ) {
        let ended = NIODeadline.now()
        let (status, failure): (Int?, String?) =
            switch result {
            case .success(let answer): (answer.status, answer.status >= 400 ? String(answer.status) : nil)
            case .failure(let error): (nil, error.cause.label)
            }
        let counted: CallResult =
            switch status {
            case nil: .error
            case (200..<300)?: .ok
            case (500...)?: .failed
            default: .refused
            }
        if let registry = self.registry {
            registry.increment(registry.calls(for: call.purpose, counted))
            registry.observe(registry.durations(of: call.purpose), nanoseconds: (ended - began).nanoseconds)
        }
        guard let trace = CallTrace.current, let url = try? EndpointURL(call.url, allowsPlainHTTP: true) else { return }
        trace.note(
            TracedCall(
                .provider(method: call.method, origin: url.origin, path: url.path, status: status),
                for: call.purpose.rawValue,
                began: began.uptimeNanoseconds,
                ended: ended.uptimeNanoseconds,
                failure: failure
            )
        )
    }
}

/// The results of calls in metrics. `withheld` calls were not sent.
private enum CallResult: String, CaseIterable {
    case ok, refused, failed, error, withheld
}

extension MetricsRegistry {
    fileprivate func calls(for purpose: OutgoingCall.Purpose, _ result: CallResult) -> CounterID {
        self.counter(MetricNames.providerCalls, purpose.rawValue, result.rawValue)
    }

    fileprivate func durations(of purpose: OutgoingCall.Purpose) -> HistogramID {
        self.histogram(MetricNames.providerCallDuration, purpose.rawValue)
    }
}

extension OutgoingCall {
    /// True if names and values are valid in HTTP (RFC 9110 5.1 and 5.5). No value can add a header field.
    fileprivate var hasWellFormedFields: Bool {
        self.fields.allSatisfy { name, value in
            !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
                && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }
        }
    }
}
