package import NIOCore

/// Decides which addresses of a name are separate servers.
///
/// Each address of the family with more addresses is a server. An address of the other family is its fallback (RFC
/// 8305): a name with one IPv4 and one IPv6 address is usually one machine. All gateways pair the addresses alike.
package enum NamePlaces {
    /// Returns the addresses of each server, its own address first.
    ///
    /// - Parameters:
    ///   - addresses: The addresses in the resolver's order, which changes from answer to answer.
    ///   - limit: The maximum number of servers to return.
    /// - Returns: An empty list if all addresses belong to one server.
    package static func split(_ addresses: [SocketAddress], limit: Int) -> [[SocketAddress]] {
        guard addresses.count > 1, limit > 1, let preferred = addresses.first?.protocol else { return [] }
        let (same, other) = (
            addresses.filter { $0.protocol == preferred }, addresses.filter { $0.protocol != preferred }
        )
        let own = Self.sorted(same.count >= other.count ? same : other)
        let second = Self.sorted(same.count >= other.count ? other : same)
        guard own.count > 1 else { return [] }
        return own.prefix(limit).enumerated().map { index, address in
            second.isEmpty ? [address] : [address, second[index % second.count]]
        }
    }

    private static func sorted(_ addresses: [SocketAddress]) -> [SocketAddress] {
        addresses.map { ($0.ipAddress ?? "", $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
