import Synchronization

/// Makes the event loops read the time again after the store has set its clock, because each loop caches the time.
/// Until all loops have read the new time, the gateway is not ready.
final class ClockSpread: Sendable {
    private struct State {
        /// Makes every event loop read the time. `nil` until `follow` is called.
        var spread: (@Sendable () async -> Void)?
        var running = 0
    }

    private let state = Mutex(State())

    /// True if every event loop has read the time since the clock was last set.
    var isDone: Bool { self.state.withLock { $0.running == 0 } }

    /// Calls `spread` each time the clock is set from now on.
    func follow(_ spread: @escaping @Sendable () async -> Void) {
        self.state.withLock { $0.spread = spread }
    }

    /// Reports that the clock was set. Callable from any thread; never blocks.
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
