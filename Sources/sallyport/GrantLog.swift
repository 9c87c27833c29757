import Logging
import Sessions
import SignOn
import Synchronization
import Vocabulary

/// Logs what happens to providers' tokens. The ids of sessions in the lines are public.
final class GrantLog: Sendable {
    private struct State {
        var saidAt: UnixTime?
        /// How many failed renewals were not logged since.
        var unsaid = 0
    }

    /// In an outage of the provider, every session in use is a failure: they are logged at most once in this time.
    private static let pause = Duration.seconds(60)

    private let logger: Logger
    private let clock: Clock
    private let state = Mutex(State())

    init(logger: Logger, clock: Clock = .system) {
        self.logger = logger
        self.clock = clock
    }

    func note(_ event: GrantJournal.Event, _ session: Session) {
        let metadata: Logger.Metadata = ["session": "\(session.id)"]
        switch event {
        case .renewed:
            self.logger.debug("provider: tokens renewed", metadata: metadata)
        case .later(let detail):
            guard let unsaid = self.unsaid() else { return }
            self.logger.warning(
                "provider: tokens could not be renewed and will be later: \(detail); \(unsaid) more since the last such line",
                metadata: metadata
            )
        case .ended(let detail):
            self.logger.info(
                "provider: it ended its session, so all sessions of that sign-in ended: \(detail)",
                metadata: metadata
            )
        case .lost(let detail):
            self.logger.warning(
                "provider: the answer to a renewal was lost, so the tokens cannot be renewed any more: \(detail)",
                metadata: metadata
            )
        case .tooLarge:
            self.logger.error("provider: its tokens are too large to be kept", metadata: metadata)
        }
    }

    /// How many failures were not logged since the last that was; nil if this one is not logged either.
    private func unsaid() -> Int? {
        let now = self.clock.now()
        return self.state.withLock { state in
            if let saidAt = state.saidAt, now.since(saidAt) < Self.pause, now >= saidAt {
                state.unsaid += 1
                return nil
            }
            defer { (state.saidAt, state.unsaid) = (now, 0) }
            return state.unsaid
        }
    }
}
