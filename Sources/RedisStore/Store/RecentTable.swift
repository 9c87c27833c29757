internal import NIOCore
import Synchronization

/// The newest entries of something that may be forgotten: when it is full, the oldest goes. For any thread.
final class RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var values: [Key: Value] = [:]
        /// Each key once, in the order of their first entry.
        var order = CircularBuffer<Key>()
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    func value(for key: Key) -> Value? {
        self.state.withLock { $0.values[key] }
    }

    /// Enters what `make` makes of the value that stands there, and returns it.
    @discardableResult
    func update(_ key: Key, _ make: (Value?) -> Value) -> Value {
        self.state.withLock { state in
            let old = state.values[key]
            let new = make(old)
            state.values[key] = new
            guard old == nil else { return new }
            state.order.append(key)
            if state.order.count > self.capacity, let oldest = state.order.popFirst() { state.values[oldest] = nil }
            return new
        }
    }
}
