import Synchronization
import Vocabulary

/// Whether Kratos can judge sessions: asked when it refuses a session that it has vouched for, because a Kratos that has
/// lost its database, or is just being replaced, refuses everybody. One question at a time, and its answer is used for a
/// second.
final class KratosHealth: Sendable {
    private struct State {
        var task: Task<Bool, Never>?
        var answer: (isReady: Bool, at: UnixTime)?
    }

    private static let lifetime = Duration.seconds(1)

    private let state = Mutex(State())
    private let clock: Clock

    init(clock: Clock) {
        self.clock = clock
    }

    /// Whether Kratos is ready.
    func isReady(_ ask: @escaping @Sendable () async -> Bool) async -> Bool {
        let now = self.clock.now()
        let task = self.state.withLock { state -> Task<Bool, Never> in
            if let answer = state.answer, now >= answer.at, now < answer.at.advanced(by: Self.lifetime) {
                return Task { answer.isReady }
            }
            if let task = state.task { return task }
            let task = Task {
                let isReady = await ask()
                let now = self.clock.now()
                self.state.withLock { state in
                    state.task = nil
                    state.answer = (isReady, now)
                }
                return isReady
            }
            state.task = task
            return task
        }
        return await task.value
    }
}
