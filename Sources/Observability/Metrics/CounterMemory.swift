import Synchronization

/// Counters by `Key`, for use on any thread. A counter is registered at its first use: series without events are not
/// shown.
package final class CounterMemory<Key: Hashable & Sendable>: Sendable {
    private let known = Mutex<[Key: CounterID]>([:])
    private let register: @Sendable (Key) -> CounterID

    /// - Parameter register: Registers the counter of a key. Concurrent threads may call it twice for one key.
    package init(_ register: @escaping @Sendable (Key) -> CounterID) {
        self.register = register
    }

    package subscript(key: Key) -> CounterID {
        if let id = self.known.withLock({ $0[key] }) { return id }
        let id = self.register(key)
        self.known.withLock { $0[key] = id }
        return id
    }
}
