import Synchronization

/// An event on another thread that a test waits for.
package final class Flag: Sendable {
    private let state = Mutex(0)

    /// A flag that is not raised.
    package init() {}

    /// Raises the flag once more.
    package func raise() {
        self.state.withLock { $0 += 1 }
    }

    /// How often it was raised.
    package var count: Int { self.state.withLock { $0 } }

    /// Waits until it is raised; false if it is not raised in time.
    package func isRaised(within seconds: Double = 5) -> Bool {
        eventually(within: seconds) { self.count > 0 }
    }
}
