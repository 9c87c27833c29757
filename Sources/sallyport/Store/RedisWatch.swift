import Logging
import RedisStore
import Synchronization

/// Finds out why Redis cannot be used, for the log when the reason changes, and for the readiness.
///
/// A gateway also starts without Redis, and tries to connect again and again without logging it. While a connection is
/// missing, the checks of `check --network` are run over separate connections: at once, and then every five seconds,
/// since the reason may change.
final class RedisWatch: Sendable {
    private struct State {
        var reason: String?
        var since: ContinuousClock.Instant?
        /// When to run the checks again.
        var next = ContinuousClock.now
        var task: Task<Void, Never>?
    }

    /// How often to check for missing connections. This sends nothing.
    private static let interval = Duration.seconds(1)
    private static let pause = Duration.seconds(5)

    private let client: RedisClient
    private let check: RedisCheck
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter check: Its patience limits how late the log may be.
    init(_ client: RedisClient, check: RedisCheck, logger: Logger) {
        self.client = client
        self.check = check
        self.logger = logger
    }

    /// Why Redis cannot be used, and how to correct it; nil: it can, or the reason is not known yet.
    var reason: String? { self.state.withLock { $0.reason } }

    func start() {
        let task = Task {
            while !Task.isCancelled {
                await self.look()
                try? await Task.sleep(for: Self.interval)
            }
        }
        self.state.withLock { $0.task = task }
    }

    /// Ends after the current check.
    func shutDown() async {
        let task = self.state.withLock { $0.task }
        task?.cancel()
        await task?.value
    }

    // MARK: Steps

    private func look() async {
        guard !self.client.status.isConnected else { return self.settle() }
        guard self.state.withLock({ $0.next }) <= .now else { return }
        let obstacles = await self.check.obstacles()
        // Redis may be back meanwhile. No obstacle does not mean that the connections are back already.
        guard !obstacles.isEmpty, !Task.isCancelled, !self.client.status.isConnected else { return }
        let reason = obstacles.map { "\($0.subject): \($0.finding)" }.joined(separator: "; ")
        let isNew = self.state.withLock { state in
            defer { state.reason = reason }
            state.next = .now + Self.pause
            state.since = state.since ?? .now
            return state.reason != reason
        }
        // A primary that refuses is logged by the journal.
        guard isNew, !self.client.status.nodes.contains(where: { $0.refusal != nil }) else { return }
        for obstacle in obstacles {
            self.logger.error(
                "store.redis cannot be used: \(obstacle.finding)",
                metadata: ["subject": "\(obstacle.subject)"]
            )
        }
    }

    private func settle() {
        let since = self.state.withLock { state in
            defer { (state.reason, state.since, state.next) = (nil, nil, .now) }
            return state.since
        }
        guard let since else { return }
        let seconds = (ContinuousClock.now - since).components.seconds
        self.logger.info("store.redis can be used again", metadata: ["seconds": "\(seconds)"])
    }
}
