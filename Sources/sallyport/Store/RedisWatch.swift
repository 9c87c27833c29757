import Logging
import RedisStore
import Synchronization

/// Says why Redis cannot be used while it cannot: in the log when that changes, and in the readiness.
///
/// A gateway starts whether Redis is there or not, and its connections are tried again and again in silence. So while any
/// is missing, what `check --network` would say of it is found out, over a connection for this alone: at once, and then
/// every five seconds, since it may become another reason.
final class RedisWatch: Sendable {
    private struct State {
        var reason: String?
        var since: ContinuousClock.Instant?
        /// When to find it out again.
        var next = ContinuousClock.now
        var task: Task<Void, Never>?
    }

    /// How often it is looked whether a connection is missing. This sends nothing.
    private static let interval = Duration.seconds(1)
    private static let pause = Duration.seconds(5)

    private let client: RedisClient
    private let check: RedisCheck
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter check: Its patience is how late the log may be.
    init(_ client: RedisClient, check: RedisCheck, logger: Logger) {
        self.client = client
        self.check = check
        self.logger = logger
    }

    /// Why it cannot be used, with the mend; nil: it can, or it is not known yet.
    var reason: String? { self.state.withLock { $0.reason } }

    /// Begins to look.
    func start() {
        let task = Task {
            while !Task.isCancelled {
                await self.look()
                try? await Task.sleep(for: Self.interval)
            }
        }
        self.state.withLock { $0.task = task }
    }

    /// Ends with the look that is under way.
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
        // It may have come back meanwhile, and nothing in its way means that the connections are on theirs.
        guard !obstacles.isEmpty, !Task.isCancelled, !self.client.status.isConnected else { return }
        let reason = obstacles.map { "\($0.subject): \($0.finding)" }.joined(separator: "; ")
        let isNew = self.state.withLock { state in
            defer { state.reason = reason }
            state.next = .now + Self.pause
            state.since = state.since ?? .now
            return state.reason != reason
        }
        // What a primary says itself when it refuses is told when it says it.
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
