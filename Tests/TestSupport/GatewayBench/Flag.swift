import Synchronization

/// Something that happened on another thread.
package final class Flag: Sendable {
    private let state = Mutex(0)

    /// One that has not happened.
    package init() {}

    /// It happened, once more.
    package func raise() {
        self.state.withLock { $0 += 1 }
    }

    /// How often it happened.
    package var count: Int { self.state.withLock { $0 } }

    /// Waits for it; whether it happened.
    package func isRaised(within seconds: Double = 5) -> Bool {
        eventually(within: seconds) { self.count > 0 }
    }
}
