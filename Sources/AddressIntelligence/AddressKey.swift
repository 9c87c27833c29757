/// What identifies a device in bindings and limits: an IPv4 address, or the /64 of an IPv6 address.
///
/// Temporary addresses change within their /64 (RFC 8981), and mobile networks assign one /64 to each bearer. A longer
/// prefix would lose the device, and a shorter one would include other devices.
package struct AddressKey: Hashable, Sendable, CustomStringConvertible {
    private let network: IPAddress

    package init(of address: IPAddress) {
        self.network = address.isV4 ? address : IPAddress(bits: address.bits & ~UInt128(UInt64.max))
    }

    /// `192.0.2.1` or `2001:db8::/64`.
    package var description: String {
        self.network.isV4 ? self.network.description : "\(self.network)/64"
    }
}
