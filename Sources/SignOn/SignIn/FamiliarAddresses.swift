package import AddressIntelligence
import Synchronization
package import Vocabulary

/// The addresses from which users recently signed in, in the memory of this process. A forgotten address only means
/// stricter limits.
package final class FamiliarAddresses: Sendable {
    /// Hashes with a seed of this process, so that no client can cause collisions.
    private struct Memory {
        var recent: Set<Int> = []
        var older: Set<Int> = []
    }

    private let memory = Mutex(Memory())
    private let capacity: Int

    /// - Parameter capacity: The minimum number of recent sign-ins to remember. About four times as many hashes are
    ///   kept.
    package init(capacity: Int = 16_384) {
        precondition(capacity > 0, "the capacity must be positive")
        self.capacity = capacity
    }

    /// Remembers that `user` has signed in from this address.
    package func add(_ address: AddressKey, _ user: UserIdentifier) {
        self.memory.withLock { memory in
            if memory.recent.count >= 2 * self.capacity {
                memory.older = memory.recent
                memory.recent = []
            }
            memory.recent.insert(Self.hash(address, nil))
            memory.recent.insert(Self.hash(address, user))
        }
    }

    /// Returns whether any user has signed in from this address.
    package func contains(_ address: AddressKey) -> Bool {
        self.contains(Self.hash(address, nil))
    }

    /// Returns whether `user` has signed in from this address.
    package func contains(_ address: AddressKey, _ user: UserIdentifier) -> Bool {
        self.contains(Self.hash(address, user))
    }

    private func contains(_ hash: Int) -> Bool {
        self.memory.withLock { $0.recent.contains(hash) || $0.older.contains(hash) }
    }

    private static func hash(_ address: AddressKey, _ user: UserIdentifier?) -> Int {
        var hasher = Hasher()
        hasher.combine(address)
        hasher.combine(user)
        return hasher.finalize()
    }
}
