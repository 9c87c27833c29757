import NIOCore

/// A table of limited size. A new entry in a full table removes the oldest entry.
package struct RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var values: [Key: Value] = [:]
    /// Each key once, in the order in which it was first added.
    private var order = CircularBuffer<Key>()

    package init(capacity: Int) {
        self.capacity = capacity
    }

    package subscript(_ key: Key) -> Value? { self.values[key] }

    /// Adds the value, or replaces the key's value.
    package mutating func insert(_ value: Value, for key: Key) {
        if self.values.updateValue(value, forKey: key) == nil { self.order.append(key) }
        if self.order.count > self.capacity, let oldest = self.order.popFirst() { self.values[oldest] = nil }
    }
}
