import Sessions
import Synchronization

/// A table that keeps only its newest entries. Thread-safe.
final class RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let recent: Mutex<RecentValues<Key, Value>>

    init(capacity: Int) {
        self.recent = Mutex(RecentValues(capacity: capacity))
    }

    func value(for key: Key) -> Value? {
        self.recent.withLock { $0[key] }
    }

    /// Replaces the present value with the result of `make`, and returns the result.
    @discardableResult
    func update(_ key: Key, _ make: (Value?) -> Value) -> Value {
        self.recent.withLock { recent in
            let new = make(recent[key])
            recent.insert(new, for: key)
            return new
        }
    }
}
