import Synchronization

/// Something that happened on another thread.
final class Flag: Sendable {
    private let state = Mutex(0)

    func raise() {
        self.state.withLock { $0 += 1 }
    }

    var count: Int { self.state.withLock { $0 } }

    func isRaised(within seconds: Double = 5) -> Bool {
        eventually(within: seconds) { self.count > 0 }
    }
}
