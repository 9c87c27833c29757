/// An IPv4 or IPv6 address.
///
/// An IPv4 address is stored in `::ffff:0:0/96` (RFC 4291 2.5.5.2). An IPv4-mapped IPv6 address therefore equals the
/// IPv4 address, and no spelling evades a rule.
package struct IPAddress: Hashable, Sendable {
    /// The address as a number; IPv4 within `::ffff:0:0/96`.
    package let bits: UInt128

    init(bits: UInt128) {
        self.bits = bits
    }

    /// Makes the IPv4 address with this value, e.g. `0x7F00_0001` for 127.0.0.1.
    package init(v4 value: UInt32) {
        self.bits = Self.mappedPrefix | UInt128(value)
    }

    /// Makes the IPv6 address with these halves. An IPv4-mapped address becomes the IPv4 address.
    package init(v6High high: UInt64, v6Low low: UInt64) {
        self.bits = UInt128(high) << 64 | UInt128(low)
    }

    /// Reads 4 or 16 bytes in network order, as sockets and PROXY v2 have them; `nil` for any other length.
    package init?(networkOrder bytes: UnsafeRawBufferPointer) {
        switch bytes.count {
        case 4: self.init(v4: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        case 16: self.init(bits: UInt128(bigEndian: bytes.loadUnaligned(as: UInt128.self)))
        default: return nil
        }
    }

    /// Whether this is an IPv4 address or an IPv4-mapped IPv6 address.
    package var isV4: Bool { self.bits >> 32 == Self.mappedPrefix >> 32 }

    /// The value of an IPv4 address; `nil` for IPv6.
    package var v4: UInt32? { self.isV4 ? UInt32(truncatingIfNeeded: self.bits) : nil }

    /// Whether the address is a loopback address: 127.0.0.0/8 or `::1`.
    package var isLoopback: Bool {
        self.isV4 ? UInt8(truncatingIfNeeded: self.bits >> 24) == 127 : self.bits == 1
    }

    /// Whether the address is `0.0.0.0` or `::`.
    package var isUnspecified: Bool { self.bits == 0 || self.bits == Self.mappedPrefix }

    /// Whether a client can have the address. Some proxies write `0.0.0.0`, `::` or `255.255.255.255` for an unknown
    /// client.
    package var canBeClient: Bool { !self.isUnspecified && self.v4 != .max }

    /// Whether the address belongs to no public network: RFC 1918, shared space (RFC 6598), link-local (RFC 3927, RFC
    /// 4291 2.5.6), unique local (RFC 4193).
    package var isPrivate: Bool {
        guard let v4 = self.v4 else {
            return self.bits >> 121 == 0x7E  // fc00::/7
                || self.bits >> 118 == 0x3FA  // fe80::/10
        }
        return v4 >> 24 == 10 || v4 >> 20 == 0xAC1 || v4 >> 16 == 0xC0A8 || v4 >> 16 == 0xA9FE || v4 >> 22 == 0x191
    }

    /// The key of the device: the address itself for IPv4, and usually its /64 for IPv6.
    package var key: AddressKey { AddressKey(of: self) }

    /// Whether this is an IPv6 address that embeds an IPv4 address: 6to4 (RFC 3056), Teredo (RFC 4380), NAT64 (RFC
    /// 6052, RFC 8215) or IPv4-compatible (RFC 4291 2.5.5.1).
    ///
    /// Databases must not be asked about these addresses. The answer would be the network of a relay, or of an IPv4
    /// address that the client can choose.
    package var isTransitional: Bool {
        self.bits >> 112 == 0x2002  // 2002::/16
            || self.isTeredo || self.isNAT64 || self.isLocalNAT64 || self.isCompatible
    }

    /// Whether the address is in `2001::/32` (RFC 4380 2.6).
    var isTeredo: Bool { self.bits >> 96 == 0x2001_0000 }
    /// Whether the address is in `64:ff9b::/96` (RFC 6052 2.1).
    var isNAT64: Bool { self.bits >> 32 == 0x0064_FF9B_0000_0000_0000_0000 }
    /// Whether the address is in `64:ff9b:1::/48` (RFC 8215).
    var isLocalNAT64: Bool { self.bits >> 80 == 0x0064_FF9B_0001 }
    /// Whether the address is in `::/96` (RFC 4291 2.5.5.1), which includes `::1`.
    var isCompatible: Bool { self.bits >> 32 == 0 }

    static let mappedPrefix: UInt128 = 0xFFFF_0000_0000
}

extension IPAddress: CustomStringConvertible {
    /// The canonical text: dotted decimal for IPv4, RFC 5952 for IPv6.
    package var description: String {
        self.isV4 ? self.dottedDecimal : self.compressedHex
    }

    private var dottedDecimal: String {
        String(unsafeUninitializedCapacity: 15) { text in
            var count = 0
            func append(_ byte: UInt8) {
                text[count] = byte
                count += 1
            }
            for shift in stride(from: UInt32(24), through: 0, by: -8) {
                let number = UInt8(truncatingIfNeeded: UInt32(truncatingIfNeeded: self.bits) >> shift)
                if number >= 100 { append(UInt8(ascii: "0") + number / 100) }
                if number >= 10 { append(UInt8(ascii: "0") + number / 10 % 10) }
                append(UInt8(ascii: "0") + number % 10)
                if shift > 0 { append(UInt8(ascii: ".")) }
            }
            return count
        }
    }

    private var compressedHex: String {
        let gap = self.longestZeroRun
        var text = ""
        text.reserveCapacity(39)
        var index = 0
        while index < 8 {
            if index == gap.lowerBound, !gap.isEmpty {
                text += "::"
                index = gap.upperBound
            } else {
                if index > 0, index != gap.upperBound || gap.isEmpty { text += ":" }
                text += String(self.group(index), radix: 16)
                index += 1
            }
        }
        return text
    }

    /// The groups that `::` replaces: the first longest run of two or more zero groups (RFC 5952 4.2).
    private var longestZeroRun: Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in 0..<8 {
            if self.group(index) != 0 {
                start = index + 1
            } else if index + 1 - start > max(longest.count, 1) {
                longest = start..<(index + 1)
            }
        }
        return longest
    }

    private func group(_ index: Int) -> UInt16 {
        UInt16(truncatingIfNeeded: self.bits >> UInt128(112 - 16 * index))
    }
}
