import Logging
import Observability
import Synchronization
import Vocabulary

/// Counts and logs what goes on without the answer of a provider's userinfo endpoint.
final class UserInfoLog: Sendable {
    /// While the endpoint fails, every sign-in is without it: that is logged at most once in this time.
    private static let pause = Duration.seconds(60)

    private let name: String
    private let registry: MetricsRegistry
    private let counter: CounterID
    private let logger: Logger
    private let clock: Clock
    private let saidAt = Mutex<UnixTime?>(nil)

    /// - Parameter name: The provider's, with which the line begins.
    init(name: String, _ registry: MetricsRegistry, logger: Logger = Logger(label: "sallyport"), clock: Clock = .system)
    {
        self.name = name
        self.registry = registry
        self.counter = registry.counter(MetricNames.providerUserinfoMissed)
        self.logger = logger
        self.clock = clock
    }

    /// - Parameter reason: Why there is no usable answer.
    func note(_ reason: String) {
        self.registry.increment(self.counter)
        let now = self.clock.now()
        let isDue = self.saidAt.withLock { saidAt in
            if let last = saidAt, now >= last, now.since(last) < Self.pause { return false }
            saidAt = now
            return true
        }
        guard isDue else { return }
        self.logger.warning(
            "\(self.name): users are known by their id_tokens alone, traits that only userinfo has are missing: \(reason)"
        )
    }
}
