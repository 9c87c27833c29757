import Synchronization

/// Makes all event loops read the clock again when the store sets it, because each loop caches the time. The gateway is
/// not ready until all loops have done so.
final class ClockSkew: Sendable {
    private struct State {
        /// Makes all event loops read the clock; `nil` until `follow` is called.
        var spread: (@Sendable () async -> Void)?
        var running = 0
    }

    private let state = Mutex(State())

    /// True if all event loops have read the clock since it was last set.
    var isDone: Bool { self.state.withLock { $0.running == 0 } }

    /// Calls `spread` whenever the clock is set.
    func follow(_ spread: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.spread = spread }
    }

    /// Reports that the clock was set. Callable on any thread; never blocks.
    func clockWasSet() {
        let spread = self.state.withLock { state in
            if state.spread != nil { state.running += 1 }
            return state.spread
        }
        guard let spread else { return }
        Task.detached {
            await spread()
            self.state.withLock { $0.running -= 1 }
        }
    }
}
