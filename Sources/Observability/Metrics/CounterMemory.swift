import Synchronization

/// Counters that are found by `Key`. A counter is registered at its first use, so that series without events are not
/// shown. Usable from any thread.
package final class CounterMemory<Key: Hashable & Sendable>: Sendable {
    private let known = Mutex<[Key: CounterID]>([:])
    private let register: @Sendable (Key) -> CounterID

    /// - Parameter register: Registers the counter of a key. Called once per key, or more often by concurrent threads.
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
