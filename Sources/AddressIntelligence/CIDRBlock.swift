/// A block of addresses, e.g. `10.0.0.0/8` or `2001:db8::/32` (RFC 4632, RFC 4291 2.3). An IPv6 block such as `::/0`
/// contains no IPv4 addresses.
package struct CIDRBlock: Hashable, Sendable, CustomStringConvertible {
    /// The first address of the block.
    package let network: IPAddress
    /// The number of leading bits that the block's addresses share: 0 to 32 for IPv4, 0 to 128 for IPv6.
    package let prefixLength: Int

    /// Reads `address/length`, or an address as a block of one. A block within `::ffff:0:0/96` becomes an IPv4 block.
    ///
    /// `nil` for any other text, and if bits beyond the length are set, as in `10.0.0.1/8`.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard !text.utf8.contains(0x25), let address = IPAddress(String(parts[0])) else { return nil }
        let isWrittenAsV6 = parts[0].utf8.contains(0x3A)
        guard parts.count == 2 else {
            self.init(network: address, spaceLength: 128)
            return
        }
        guard let length = Self.prefixLength(parts[1]), length <= (isWrittenAsV6 ? 128 : 32) else { return nil }
        self.init(network: address, spaceLength: isWrittenAsV6 ? length : length + 96)
    }

    /// Makes the block of all addresses that share the first `v4` (for IPv4) or `v6` (for IPv6) bits of `address`.
    package init(of address: IPAddress, v4: Int, v6: Int) {
        self.prefixLength = address.isV4 ? v4 : v6
        let spaceLength = address.isV4 ? v4 + 96 : v6
        self.network = IPAddress(bits: address.bits & ~Self.hostMask(spaceLength: spaceLength))
    }

    /// - Parameter spaceLength: The prefix length in the 128-bit space that both families share (`IPAddress`).
    private init?(network: IPAddress, spaceLength: Int) {
        guard network.bits & Self.hostMask(spaceLength: spaceLength) == 0 else { return nil }
        self.network = network
        self.prefixLength = network.isV4 ? spaceLength - 96 : spaceLength
    }

    /// Returns true if `address` is in the block.
    package func contains(_ address: IPAddress) -> Bool {
        address.isV4 == self.network.isV4
            && (address.bits ^ self.network.bits) & ~Self.hostMask(spaceLength: self.spaceLength) == 0
    }

    /// `address/length` in the canonical form of the address.
    package var description: String { "\(self.network)/\(self.prefixLength)" }

    /// The last address of the block, as a number.
    var last: UInt128 { self.network.bits | Self.hostMask(spaceLength: self.spaceLength) }

    private var spaceLength: Int { self.network.isV4 ? self.prefixLength + 96 : self.prefixLength }

    private static func hostMask(spaceLength: Int) -> UInt128 {
        UInt128.max >> UInt128(spaceLength)
    }

    private static func prefixLength(_ text: Substring) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        guard text.utf8.count == 1 || text.utf8.first != 0x30 else { return nil }
        return Int(text)
    }
}
