import Sessions
import Synchronization
import Vocabulary

/// The questions that are under way, so that all event loops of the process ask once for one credential. A good verdict
/// also serves those who ask shortly after it was given: they had begun to look in the store before it was there.
final class VerdictFlights: Sendable {
    private struct Flight {
        let task: Task<TokenVerdict, Never>
        /// When the verdict was given; nil: it is being asked for.
        var endedAt: UnixTime?
    }

    private struct State {
        var flights: [PresentedToken: Flight] = [:]
        var underWay = 0
    }

    /// For how long a good verdict is shared.
    private static let sharing = Duration.seconds(1)

    private let state = Mutex(State())
    private let clock: Clock
    private let most: Int

    /// - Parameter most: How many questions may be under way. Further credentials are answered that the provider is
    ///   unavailable, so that a flood of invented ones is not passed on to it without limit.
    init(most: Int, clock: Clock) {
        self.most = most
        self.clock = clock
    }

    /// The answer of `ask`, or that of the same question under way.
    func verdict(
        on presented: PresentedToken,
        _ ask: @escaping @Sendable () async -> TokenVerdict
    ) async -> TokenVerdict {
        let key = PresentedToken(presented.token, as: presented.kind)
        let now = self.clock.now()
        let task: Task<TokenVerdict, Never>? = self.state.withLock { state in
            if let flight = state.flights[key], flight.endedAt.map({ Self.isShared($0, now) }) ?? true {
                return flight.task
            }
            guard state.underWay < self.most else { return nil }
            state.underWay += 1
            let task = Task {
                let verdict = await ask()
                self.ended(key, verdict)
                return verdict
            }
            state.flights[key] = Flight(task: task)
            return task
        }
        return await task?.value ?? .unavailable
    }

    private static func isShared(_ endedAt: UnixTime, _ now: UnixTime) -> Bool {
        now >= endedAt && now < endedAt.advanced(by: self.sharing)
    }

    private func ended(_ key: PresentedToken, _ verdict: TokenVerdict) {
        let now = self.clock.now()
        self.state.withLock { state in
            state.underWay -= 1
            if case .known = verdict {
                state.flights[key]?.endedAt = now
            } else {
                state.flights[key] = nil
            }
            // Those whose time is over; when there are few they do no harm.
            if state.flights.count > 1024 {
                state.flights = state.flights.filter { $0.value.endedAt.map { Self.isShared($0, now) } ?? true }
            }
        }
    }
}
