import Synchronization
import Vocabulary

/// Limits a log line to once a minute. For lines that any request may cause.
final class SeldomLine: Sendable {
    private struct State {
        var saidAt: UnixTime?
        var unsaid = 0
    }

    private static let pause = Duration.seconds(60)

    private let clock: Clock
    private let state = Mutex(State())

    init(clock: Clock = .system) {
        self.clock = clock
    }

    /// Returns how many lines were skipped since the last one; `nil` if this line must be skipped, too.
    func due() -> Int? {
        let now = self.clock.now()
        return self.state.withLock { state in
            if let saidAt = state.saidAt, now >= saidAt, now.since(saidAt) < Self.pause {
                state.unsaid += 1
                return nil
            }
            defer { state = State(saidAt: now) }
            return state.unsaid
        }
    }
}
