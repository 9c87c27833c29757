import Dispatch
import Synchronization

/// Runs slow, memory-hungry work off the event loops and off Swift's own threads: a few pieces at once, a bounded queue.
package final class PasswordWorkers: Sendable {
    /// Does the work; what it returns tells whoever waits for it.
    private typealias Job = @Sendable () -> @Sendable () -> Void

    private struct State {
        var running = 0
        var waiting: [Job] = []
    }

    private let state = Mutex(State())
    private let threads = DispatchQueue(label: "sallyport.passwords", qos: .userInitiated, attributes: .concurrent)
    private let atOnce: Int
    private let waitingLimit: Int

    /// - Parameters:
    ///   - atOnce: How many pieces run at a time; scrypt takes tens of mebibytes for each.
    ///   - waitingLimit: How many may wait; more are turned away at once.
    package init(atOnce: Int = 2, waitingLimit: Int = 32) {
        precondition(atOnce > 0 && waitingLimit >= 0, "nothing could ever run")
        self.atOnce = atOnce
        self.waitingLimit = waitingLimit
    }

    /// What `work` returned; nil: there is too much to do already, and it was not begun.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
            let isTaken = self.submit {
                let value = work()
                return { continuation.resume(returning: value) }
            }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    private func submit(_ job: @escaping Job) -> Bool {
        enum Place { case now, later, none }
        let place: Place = self.state.withLock { state in
            if state.running < self.atOnce {
                state.running += 1
                return .now
            }
            guard state.waiting.count < self.waitingLimit else { return .none }
            state.waiting.append(job)
            return .later
        }
        if place == .now { self.start(job) }
        return place != .none
    }

    private func start(_ job: @escaping Job) {
        self.threads.async {
            let answer = job()
            let next = self.state.withLock { state -> Job? in
                if state.waiting.isEmpty {
                    state.running -= 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            if let next { self.start(next) }
            // Last: whoever is answered finds the place free.
            answer()
        }
    }
}
