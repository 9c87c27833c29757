import Vocabulary

extension IPAddress {
    /// Reads dotted decimal, or IPv6 by RFC 4291 2.2 with an optional zone.
    ///
    /// The syntax is strict: no leading zeros in IPv4 (some parsers read `010.0.0.1` as octal), no missing octets, no
    /// ports, no brackets, no spaces. A zone id (RFC 4007) is checked and dropped.
    package init?(_ text: String) {
        var text = text
        guard let address = text.withUTF8({ IPAddress(utf8: $0) }) else { return nil }
        self = address
    }

    /// Reads an address from bytes, by the rules of `init(_:)`. Allocates nothing.
    package init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.contains(0x3A) else {
            guard let value = dottedDecimal(bytes[...]) else { return nil }
            self.init(v4: value)
            return
        }
        var text = bytes[...]
        if let percent = bytes.firstIndex(of: 0x25) {
            guard isZone(bytes[(percent + 1)...]) else { return nil }
            text = bytes[..<percent]
        }
        guard let bits = colonHex(text) else { return nil }
        self.init(bits: bits)
    }
}

private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

/// Reads four decimal octets without leading zeros.
private func dottedDecimal(_ text: Bytes) -> UInt32? {
    var value: UInt32 = 0
    var octet: UInt32?
    var dots = 0
    for byte in text {
        if byte == 0x2E {
            guard let whole = octet, dots < 3 else { return nil }
            value = value << 8 | whole
            octet = nil
            dots += 1
        } else {
            let digit = byte &- 0x30
            guard digit <= 9, octet != 0 else { return nil }
            let longer = (octet ?? 0) * 10 + UInt32(digit)
            guard longer <= 255 else { return nil }
            octet = longer
        }
    }
    guard dots == 3, let octet else { return nil }
    return value << 8 | octet
}

/// Reads eight groups of one to four hexadecimal digits. `::` replaces one run of zero groups. The last two groups may
/// be written as an IPv4 address.
private func colonHex(_ text: Bytes) -> UInt128? {
    var value: UInt128 = 0
    var groups = 0
    /// The number of groups before the `::`.
    var gap: Int?
    var index = text.startIndex
    if text.first == 0x3A {
        guard text.count >= 2, text[index + 1] == 0x3A else { return nil }
        gap = 0
        index += 2
    }
    while index < text.endIndex {
        let start = index
        var group: UInt128 = 0
        while index < text.endIndex, let digit = Hexadecimal.value(text[index]) {
            group = group << 4 | UInt128(digit)
            index += 1
            guard index - start <= 4 else { return nil }
        }
        if index < text.endIndex, text[index] == 0x2E {
            guard groups <= 6, let tail = dottedDecimal(text[start...]) else { return nil }
            value = value << 32 | UInt128(tail)
            groups += 2
            break
        }
        guard index > start, groups < 8 else { return nil }
        value = value << 16 | group
        groups += 1
        guard index < text.endIndex else { break }
        guard text[index] == 0x3A else { return nil }
        index += 1
        guard index < text.endIndex else { return nil }
        if text[index] == 0x3A {
            guard gap == nil else { return nil }
            gap = groups
            index += 1
        }
    }
    guard let gap else { return groups == 8 ? value : nil }
    guard groups < 8 else { return nil }
    let tailBits = UInt128(16 * (groups - gap))
    let head = value >> tailBits
    return head << UInt128(16 * (8 - gap)) | (value ^ head << tailBits)
}

/// Returns true if a text can be a zone id: visible ASCII without characters that end an address in a URL or a list.
private func isZone(_ text: Bytes) -> Bool {
    !text.isEmpty
        && text.allSatisfy { byte in
            switch byte {
            case 0x22, 0x25, 0x2C, 0x2F, 0x3B, 0x5B, 0x5D: false
            default: (0x21...0x7E).contains(byte)
            }
        }
}
