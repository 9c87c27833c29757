package import NIOCore
import Synchronization

/// Remembers for ten seconds which addresses lost a race or failed, and puts them last. Otherwise an address that never
/// answers would delay each new connection. Used by all loops.
package final class AddressMemory: Sendable {
    package static let lifetime = TimeAmount.seconds(10)

    /// The addresses that have lost, each with the time until which `order` puts it last.
    private let losers = Mutex<[SocketAddress: NIODeadline]>([:])
    /// True if any address is remembered. If false, `answered` needs no lock.
    private let hasLosers = Atomic<Bool>(false)

    /// Makes an empty memory.
    package init() {}

    /// Remembers that an address lost a race or failed.
    package func lost(_ address: SocketAddress, now: NIODeadline) {
        self.losers.withLock { losers in
            losers = losers.filter { now < $0.value }
            losers[address] = now + Self.lifetime
            self.hasLosers.store(true, ordering: .relaxed)
        }
    }

    /// Forgets the address, because it accepted a connection.
    package func answered(_ address: SocketAddress) {
        guard self.hasLosers.load(ordering: .relaxed) else { return }
        self.losers.withLock { losers in
            losers[address] = nil
            self.hasLosers.store(!losers.isEmpty, ordering: .relaxed)
        }
    }

    /// Returns the addresses in the order in which to try them. The families alternate, beginning with the family of
    /// the first address. Remembered addresses come last.
    package func order(_ addresses: [SocketAddress], now: NIODeadline) -> [SocketAddress] {
        guard addresses.count > 1 else { return addresses }
        let losers = self.losers.withLock { losers in losers.filter { now < $0.value } }
        return Self.alternating(addresses.filter { losers[$0] == nil })
            + Self.alternating(addresses.filter { losers[$0] != nil })
    }

    private static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
        let family = addresses.first?.protocol
        var (same, other) = (
            addresses.filter { $0.protocol == family }[...], addresses.filter { $0.protocol != family }[...]
        )
        var order: [SocketAddress] = []
        while order.count < addresses.count {
            if let address = same.popFirst() { order.append(address) }
            if let address = other.popFirst() { order.append(address) }
        }
        return order
    }
}
