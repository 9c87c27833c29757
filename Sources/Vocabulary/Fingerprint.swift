/// A short name of a token for logs: 50 bits of the hash under which the token is stored, in ten characters of
/// lower-case base32 (RFC 4648 6).
///
/// All gateways with the same secret log the same fingerprint. It does not reveal the token. A session has the
/// fingerprint of its token.
package struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The number of characters.
    package static let length = 10

    /// The 50 bits, in the upper bits of the number.
    package let bits: UInt64

    /// - Parameter digest: The first eight bytes of the digest as a big-endian number.
    package init(_ digest: UInt64) {
        self.bits = digest & ~0x3FFF
    }

    /// Reads a fingerprint; `nil` if the text is not a fingerprint.
    package init?(_ text: String) {
        guard text.utf8.count == Self.length else { return nil }
        var bits: UInt64 = 0
        for byte in text.utf8 {
            let value: UInt8
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = byte - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = byte - UInt8(ascii: "2") + 26
            default: return nil
            }
            bits = bits << 5 | UInt64(value)
        }
        self.bits = bits << 14
    }

    /// Writes the ten characters to `target`.
    package func write(to target: UnsafeMutablePointer<UInt8>) {
        let (characters, target) = (self.characters, UnsafeMutableRawPointer(target))
        target.storeBytes(of: characters.first, as: UInt64.self)
        target.storeBytes(of: characters.last, toByteOffset: 8, as: UInt16.self)
    }

    /// The characters in memory order: the first eight, and the last two.
    package var characters: (first: UInt64, last: UInt16) {
        // Spreads the upper 40 bits into eight numbers of five bits, one per byte.
        var numbers = self.bits >> 24
        numbers = numbers & 0xFFFFF | (numbers >> 20) << 32
        numbers = numbers & 0x0000_03FF_0000_03FF | (numbers & 0x000F_FC00_000F_FC00) << 6
        let first = Self.characters(Self.pairs(numbers)).bigEndian
        let last = UInt16(truncatingIfNeeded: Self.characters(Self.pairs(self.bits >> 14 & 0x3FF))).bigEndian
        return (first, last)
    }

    /// Splits the ten bits in each 16-bit lane into five bits per byte.
    private static func pairs(_ numbers: UInt64) -> UInt64 {
        numbers & 0x001F_001F_001F_001F | (numbers & 0x03E0_03E0_03E0_03E0) << 3
    }

    /// Returns the characters for eight numbers below 32: `a` to `z`, then `2` to `7`.
    private static func characters(_ numbers: UInt64) -> UInt64 {
        // The highest bit of each byte is set if its number is 26 or more.
        let isDigit = (numbers &+ 0x6666_6666_6666_6666) & 0x8080_8080_8080_8080
        let letters = numbers &+ 0x6161_6161_6161_6161
        return letters &- (isDigit >> 7) &* UInt64(UInt8(ascii: "a") + 26 - UInt8(ascii: "2"))
    }

    package var description: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            self.write(to: base)
            return Self.length
        }
    }
}
