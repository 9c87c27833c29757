package import NIOCore

/// Which of the addresses of a name are servers of their own.
///
/// An orchestrator gives all instances of an app one name. But a name with an IPv4 and an IPv6 address is most often one
/// machine, so of two families only the one with more addresses counts, and each server has one of the other as a second way
/// (RFC 8305), the same in every gateway.
package enum NamePlaces {
    /// The addresses of each server, its own one first.
    ///
    /// - Parameters:
    ///   - addresses: In the order of the resolver, which changes from one answer to the next.
    ///   - limit: The most servers.
    /// - Returns: Empty: the name is one server.
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
