import Logging
import Sessions
import SignOn

/// Logs renewals and losses of providers' tokens, with session ids.
final class GrantLog: Sendable {
    private let logger: Logger
    /// Limits the lines about failed renewals. During an outage, every renewal fails.
    private let later = SeldomLine()

    init(logger: Logger) {
        self.logger = logger
    }

    func note(_ event: GrantJournal.Event, _ session: Session) {
        let metadata: Logger.Metadata = ["session": "\(session.id)"]
        switch event {
        case .renewed:
            self.logger.debug("provider: tokens renewed", metadata: metadata)
        case .changed(let traits):
            let names = traits.joined(separator: " ")
            self.logger.debug("provider: the user's claims have changed: \(names)", metadata: metadata)
        case .later(let detail):
            guard let unsaid = self.later.due() else { return }
            self.logger.warning(
                "provider: tokens could not be renewed, which will be retried: \(detail); \(unsaid) more since the last such line",
                metadata: metadata
            )
        case .ended(let detail):
            self.logger.info(
                "provider: it has ended its session, so all sessions of that sign-in have ended: \(detail)",
                metadata: metadata
            )
        case .lost(let detail):
            self.logger.warning(
                "provider: the answer to a renewal was lost, so the tokens can no longer be renewed: \(detail)",
                metadata: metadata
            )
        case .tooLarge:
            self.logger.error("provider: its tokens are too large to be kept", metadata: metadata)
        }
    }
}
