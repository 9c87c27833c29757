import Logging
import Operating
import RedisStore
import Synchronization
import Vocabulary

/// Finds out why Redis cannot be used, for the log when the reason changes, and for the readiness.
///
/// A gateway also starts without Redis, and tries to connect again and again without logging it. While a connection is
/// missing, the checks of `check --network` are run over separate connections: at once, and then every five seconds,
/// since the reason may change.
///
/// A Redis that can be used may deny some of the commands: every right that the gateway needs is tried as `check --network`
/// tries it, at the start, every ten seconds, and within a second after a command was denied.
final class RedisWatch: Sendable {
    private struct State {
        var reason: String?
        var since: ContinuousClock.Instant?
        /// When to run the checks again.
        var next = ContinuousClock.now
        var task: Task<Void, Never>?
        var rights = Rights()
    }

    /// What is known of the rights of the gateway's user.
    private struct Rights {
        /// What it lacks, in words.
        var lack: String?
        var since: ContinuousClock.Instant?
        /// When to try them again.
        var next = ContinuousClock.now
        /// How many commands had been denied at the last look.
        var denials = 0
        /// Until when a denial counts whose right was found to be there.
        var doubtedUntil: ContinuousClock.Instant?
    }

    /// How often to check for missing connections. This sends nothing.
    private static let interval = Duration.seconds(1)
    private static let pause = Duration.seconds(5)
    private static let rightsPause = Duration.seconds(10)
    private static let unexplained =
        "it has denied a command for which the gateway's user seems to have the right: ACL LOG names it"

    private let client: RedisClient
    private let check: RedisCheck
    private let logger: Logger
    private let state = Mutex(State())
    /// A lack is logged again while it lasts.
    private let reminder = SeldomLine(clock: .steady())

    /// - Parameter check: Its patience limits how late the log may be.
    init(_ client: RedisClient, check: RedisCheck, logger: Logger) {
        self.client = client
        self.check = check
        self.logger = logger
    }

    /// Why Redis cannot be used, and how to correct it; nil: it can, or the reason is not known yet.
    var reason: String? { self.state.withLock { $0.reason } }

    /// What the gateway's user may not do though the gateway needs it, and how to grant it; `nil` if it may do
    /// everything, or if that is not known.
    var missingRights: String? { self.state.withLock { $0.rights.lack } }

    /// Returns when the rights were tried once, if Redis can be reached.
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

    /// Signs in with the users and passwords of another configuration from now on.
    func adoptCredentials(of configuration: RedisConfiguration) {
        self.check.connector.adoptCredentials(of: configuration)
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
            // A command that was denied for lack of a courtesy is no reason to doubt.
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
                "store.redis denies what the gateway needs, so it is not ready: \(lack); told once a minute"
            )
        } else if let since {
            let seconds = (ContinuousClock.now - since).components.seconds
            self.logger.info("store.redis: its user has all rights again", metadata: ["seconds": "\(seconds)"])
        }
    }
}
