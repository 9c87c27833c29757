import Logging
import Operating
import RedisStore
import Synchronization
import Vocabulary

/// Finds out why Redis cannot be used, for the log and the readiness checks.
///
/// While a connection is missing, the checks of `check --network` run at once, and again every few seconds.
///
/// A Redis that can be used may still deny some commands (ACL). The needed rights are tested at the start, every ten
/// seconds, every second while one is missing, and within a second after a command was denied.
final class RedisWatch: Sendable {
    private struct State {
        var reason: String?
        var since: ContinuousClock.Instant?
        /// When to check next.
        var next = ContinuousClock.now
        var task: Task<Void, Never>?
        var rights = Rights()
    }

    private struct Rights {
        /// Describes the missing rights.
        var lack: String?
        var since: ContinuousClock.Instant?
        /// When to test next.
        var next = ContinuousClock.now
        /// The number of denied commands at the last test.
        var denials = 0
        /// Until then, a denied command is reported even if no right seems to be missing.
        var doubtedUntil: ContinuousClock.Instant?
    }

    /// How often to read the state of the connections. Reading it sends nothing.
    private static let interval = Duration.seconds(1)
    private static let pause = Duration.seconds(5)
    private static let rightsPause = Duration.seconds(10)
    private static let unexplained =
        "it has denied a command although the gateway's user seems to have the right: see ACL LOG"

    private let client: RedisClient
    private let check: RedisCheck
    private let logger: Logger
    private let state = Mutex(State())
    /// Limits the repeated lines about missing rights.
    private let reminder = SeldomLine(clock: .steady())

    /// - Parameter check: Runs the checks. Its time limit delays log lines.
    init(_ client: RedisClient, check: RedisCheck, logger: Logger) {
        self.client = client
        self.check = check
        self.logger = logger
    }

    /// Why Redis cannot be used, and what to do; `nil` if it can be used or the reason is not known yet.
    var reason: String? { self.state.withLock { $0.reason } }

    /// Which rights are missing, and how to grant them; `nil` if none is known to be missing.
    var missingRights: String? { self.state.withLock { $0.rights.lack } }

    /// Starts the watch. If Redis is connected, tests the rights before it returns.
    func start() async {
        if self.client.status.isConnected { await self.lookAtRights() }
        let task = Task {
            while !Task.isCancelled {
                await self.look()
                await self.lookAtRights()
                try? await Task.sleep(for: Self.interval)
            }
        }
        self.state.withLock { $0.task = task }
    }

    /// Starts to use the users and passwords in another configuration.
    func adoptCredentials(of configuration: RedisConfiguration) {
        self.check.connector.adoptCredentials(of: configuration)
    }

    /// Stops the watch after the current check.
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
        // The checks take time: Redis may be connected by now.
        guard !obstacles.isEmpty, !Task.isCancelled, !self.client.status.isConnected else { return }
        let reason = obstacles.map { "\($0.subject): \($0.finding)" }.joined(separator: "; ")
        let isNew = self.state.withLock { state in
            defer { state.reason = reason }
            state.next = .now + Self.pause
            state.since = state.since ?? .now
            return state.reason != reason
        }
        // `RedisJournal` logs primaries that refuse to serve.
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

    // MARK: Rights

    private func lookAtRights() async {
        let denials = self.client.meter.denials
        let (isDue, wasDenied) = self.state.withLock { state in
            let rights = state.rights
            let wasDenied = denials != rights.denials
            return (wasDenied || rights.lack != nil || rights.next <= .now, wasDenied)
        }
        guard isDue else { return }
        let found = await self.check.missingRights()
        guard let missing = found, !Task.isCancelled else {
            return self.state.withLock { $0.rights.next = .now + Self.pause }
        }
        let findings = missing.needed.map { "\($0.subject): \($0.finding)" }
        var lack = findings.isEmpty ? nil : findings.joined(separator: "; ")
        let (isNew, since) = self.state.withLock { state in
            let former = state.rights
            state.rights.next = .now + Self.rightsPause
            state.rights.denials = denials
            if wasDenied { state.rights.doubtedUntil = .now + Self.rightsPause }
            // Any missing right explains the denied command.
            if lack != nil || missing.lacksCourtesy {
                state.rights.doubtedUntil = nil
            } else if former.lack == nil || former.lack == Self.unexplained,
                let end = state.rights.doubtedUntil, end > .now
            {
                lack = Self.unexplained
            } else {
                state.rights.doubtedUntil = nil
            }
            state.rights.lack = lack
            state.rights.since = lack == nil ? nil : former.since ?? .now
            return (lack != former.lack, former.since)
        }
        if let lack {
            guard self.reminder.due() != nil || isNew else { return }
            self.logger.error(
                "store.redis denies what the gateway needs, so the gateway is not ready: \(lack); logged once a minute"
            )
        } else if let since {
            let seconds = (ContinuousClock.now - since).components.seconds
            self.logger.info("store.redis: its user has all rights again", metadata: ["seconds": "\(seconds)"])
        }
    }
}
