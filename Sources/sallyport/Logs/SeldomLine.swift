import Synchronization
import Vocabulary

/// A line of the log for what may happen with every request: it is written at most once a minute.
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

    /// How many of these lines were not written since the last that was; nil if this one is not written either.
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
