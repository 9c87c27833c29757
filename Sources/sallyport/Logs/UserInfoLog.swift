import Logging
import Observability

/// Counts and logs sign-ins and renewals without a usable answer from the provider's userinfo endpoint.
final class UserInfoLog: Sendable {
    private let name: String
    private let registry: MetricsRegistry
    private let counter: CounterID
    private let logger: Logger
    /// Limits the lines. While the endpoint fails, every sign-in causes one.
    private let line = SeldomLine()

    /// - Parameter name: The provider's name, with which each line begins.
    init(name: String, _ registry: MetricsRegistry, logger: Logger = Logger(label: "sallyport")) {
        self.name = name
        self.registry = registry
        self.counter = registry.counter(MetricNames.providerUserinfoMissed)
        self.logger = logger
    }

    /// - Parameter reason: Why there is no usable answer.
    func note(_ reason: String) {
        self.registry.increment(self.counter)
        guard self.line.due() != nil else { return }
        self.logger.warning(
            "\(self.name): only the id_tokens of users are used, so traits that only userinfo has are missing: \(reason)"
        )
    }
}
