/// The identity of a device in bindings and limits: an IPv4 address, or the /64 of an IPv6 address.
///
/// Temporary addresses change within their /64 (RFC 8981), and mobile networks assign one /64 to each bearer. If
/// clients share a /64 because of a relay or translator, each client has its own key (`IPAddress.client`).
package struct AddressKey: Hashable, Sendable, CustomStringConvertible {
    private let network: IPAddress

    package init(of address: IPAddress) {
        let client = address.client
        let isWhole = client.isV4 || client.sharesPrefix
        self.network = isWhole ? client : IPAddress(bits: client.bits & ~UInt128(UInt64.max))
    }

    /// Whether the device has an IPv4 address.
    package var isV4: Bool { self.network.isV4 }

    /// The key as a block: an IPv4 /32, an IPv6 /64, or a /128 if unrelated clients share the /64.
    package var block: CIDRBlock { CIDRBlock(of: self.network, v4: 32, v6: self.network.sharesPrefix ? 128 : 64) }

    /// `192.0.2.1`, `2001:db8::/64`, or the whole IPv6 address of a client that shares its /64 with others.
    package var description: String {
        self.network.isV4 || self.network.sharesPrefix ? self.network.description : "\(self.network)/64"
    }
}

extension IPAddress {
    /// The address that distinguishes a client from other clients.
    ///
    /// - NAT64 (`64:ff9b::/96`): the embedded IPv4 address of the client (RFC 6052 2.1).
    /// - Teredo: `2001::/32` followed by the IPv4 address of the client's NAT (RFC 4380 4). The client can vary all
    ///   other bits. The result stays an IPv6 address, because anyone can run a relay and invent an IPv4 address.
    /// - Other addresses are unchanged, even those of 6to4, where each IPv4 address has its own /48 (RFC 3056 2).
    package var client: IPAddress {
        if self.isV4 { return self }
        let embedded = UInt32(truncatingIfNeeded: self.bits)
        if self.isNAT64 { return IPAddress(v4: embedded) }
        if self.isTeredo { return IPAddress(bits: UInt128(0x2001_0000) << 96 | UInt128(~embedded)) }
        return self
    }

    /// Whether unrelated clients share the address's /64: Teredo, IPv4-compatible addresses, and NAT64 for local use
    /// (RFC 8215).
    package var sharesPrefix: Bool { self.isTeredo || self.isLocalNAT64 || self.isCompatible }
}

extension CIDRBlock {
    /// Makes the network of a client: the first `v4` bits of an IPv4 address, or the first `v6` bits of an IPv6
    /// address. If unrelated clients share the /64 (`sharesPrefix`), the network is a /120, like the /24 of an embedded
    /// IPv4 address.
    package init(networkOf address: IPAddress, v4: Int, v6: Int) {
        let client = address.client
        self.init(of: client, v4: v4, v6: client.sharesPrefix ? 120 : v6)
    }
}
