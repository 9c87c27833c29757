/// What stands for a device in bindings and limits: an IPv4 address, or the /64 of an IPv6 address.
///
/// Temporary addresses rotate within their /64 (RFC 8981) and mobile networks hand each bearer one /64, so a longer
/// prefix would lose the device and a shorter one would take in its neighbours.
package struct AddressKey: Hashable, Sendable, CustomStringConvertible {
    private let network: IPAddress

    init(of address: IPAddress) {
        self.network = address.isV4 ? address : IPAddress(bits: address.bits & ~UInt128(UInt64.max))
    }

    /// `192.0.2.1` or `2001:db8::/64`.
    package var description: String {
        self.network.isV4 ? self.network.description : "\(self.network)/64"
    }
}
