import Synchronization

/// Bounds the calls that are under way, so that a flood of invented tokens is not passed on to a provider, which might block
/// the gateway for it.
final class CallLimit: Sendable {
    private let most: Int
    private let count = Mutex(0)

    init(most: Int = 64) {
        self.most = most
    }

    /// Whether there is room for one more call. Each that began must end.
    func begin() -> Bool {
        self.count.withLock { count in
            guard count < self.most else { return false }
            count += 1
            return true
        }
    }

    func end() {
        self.count.withLock { $0 -= 1 }
    }
}
