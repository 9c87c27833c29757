internal import NIOCore
import Synchronization

/// The newest entries of a table that may forget: when it is full, the oldest entry is removed. For any thread.
final class RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var values: [Key: Value] = [:]
        /// Each key once, in the order in which it was first added.
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

    /// Replaces the present value by the result of `make`, and returns that.
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
