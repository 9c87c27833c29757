import Calls
import Sessions
import Synchronization
import Vocabulary

/// The open questions to a provider, shared by all event loops of the process, so that each question is asked once. A
/// kept answer also serves callers that ask within a second after it, because other look-ups delayed them.
final class SharedQuestions<Question: Hashable & Sendable, Answer: Sendable>: Sendable {
    private struct Flight {
        let task: Task<Answer, Never>
        /// The time of the answer. `nil` while the question is open.
        var endedAt: UnixTime?

        func isShared(at now: UnixTime) -> Bool {
            // An answer is shared for a second.
            self.endedAt.map { now >= $0 && now < $0.advanced(by: .seconds(1)) } ?? true
        }
    }

    private struct State {
        var flights: [Question: Flight] = [:]
        var limit: CallLimit
    }

    private let state: Mutex<State>
    private let clock: Clock
    private let isKept: @Sendable (Answer) -> Bool

    /// - Parameters:
    ///   - most: The maximum number of open questions (`CallLimit`). Further questions are not asked, so that a flood
    ///     of invented tokens is not passed on to the provider without limit.
    ///   - isKept: Returns whether an answer is shared for a second after it was given.
    init(most: Int, clock: Clock, isKept: @escaping @Sendable (Answer) -> Bool = { _ in true }) {
        self.state = Mutex(State(limit: CallLimit(most: most, kept: most / 8)))
        self.clock = clock
        self.isKept = isKept
    }

    /// Returns the answer of `ask`, or of an equal question that is open or whose answer is still shared. `nil` if too
    /// many are open, in total or of this caller.
    func answer(
        to question: Question,
        for caller: ProviderCaller = .endpoint(nil),
        _ ask: @escaping @Sendable () async -> Answer
    )
        async -> Answer?
    {
        let now = self.clock.now()
        let task: Task<Answer, Never>? = self.state.withLock { state in
            if let flight = state.flights[question], flight.isShared(at: now) { return flight.task }
            guard state.limit.admits(caller) else { return nil }
            state.limit.begin(caller)
            let task = Task {
                let answer = await ask()
                self.ended(question, answer, for: caller)
                return answer
            }
            state.flights[question] = Flight(task: task)
            return task
        }
        return await task?.value
    }

    private func ended(_ question: Question, _ answer: Answer, for caller: ProviderCaller) {
        let now = self.clock.now()
        self.state.withLock { state in
            state.limit.end(caller)
            if self.isKept(answer) {
                state.flights[question]?.endedAt = now
            } else {
                state.flights[question] = nil
            }
            // Removes expired answers. If there are few, they do no harm.
            if state.flights.count > 1024 { state.flights = state.flights.filter { $0.value.isShared(at: now) } }
        }
    }
}
