import Synchronization

/// Bounds the calls that are under way, so that a flood of invented artefacts is not passed on to a provider, which would
/// block the gateway for it.
final class CallLimit: Sendable {
    private static let most = 64

    private let count = Mutex(0)

    /// Whether there is room for one more call. Each that began must end.
    func begin() -> Bool {
        self.count.withLock { count in
            guard count < Self.most else { return false }
            count += 1
            return true
        }
    }

    func end() {
        self.count.withLock { $0 -= 1 }
    }
}
