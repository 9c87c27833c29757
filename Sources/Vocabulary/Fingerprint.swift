/// A short name of a token in logs: the first 50 bits of the hash under which its record is found, in ten characters of
/// base32 (RFC 4648 6, in lower case).
///
/// All gateways with the same secret give a token the same name. It leads back to no token, and names a record to nobody
/// but whoever reads the logs. A session has the name of its token.
package struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// The number of characters.
    package static let length = 10

    /// The 50 bits, in the upper end.
    private let bits: UInt64

    /// - Parameter digest: The first eight bytes of the digest, the first one highest.
    package init(_ digest: UInt64) {
        self.bits = digest & ~0x3FFF
    }

    /// The fingerprint in this text; nil if it is none.
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

    /// Writes the characters to `target`, which has room for them.
    package func write(to target: UnsafeMutablePointer<UInt8>) {
        var rest = self.bits
        for index in 0..<Self.length {
            rest = rest << 5 | rest >> 59
            let value = UInt8(truncatingIfNeeded: rest) & 0x1F
            target[index] = value < 26 ? UInt8(ascii: "a") + value : UInt8(ascii: "2") + value - 26
        }
    }

    package var description: String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            self.write(to: base)
            return Self.length
        }
    }
}
