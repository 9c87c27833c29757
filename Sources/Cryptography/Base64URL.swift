/// Base64 with the URL-safe alphabet and without padding (RFC 4648 5 and 3.2).
package enum Base64URL {
    /// The text of `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Self.encoded(Array(bytes)), as: UTF8.self)
    }

    /// The text of `bytes` as ASCII.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let count = (bytes.count * 4 + 2) / 3
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var pending: UInt32 = 0
            var bits: UInt32 = 0
            for byte in bytes {
                pending = pending << 8 | UInt32(byte)
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    buffer.initializeElement(at: initialized, to: Self.character(pending >> bits & 0x3F))
                    initialized += 1
                }
            }
            if bits > 0 {
                buffer.initializeElement(at: initialized, to: Self.character(pending << (6 - bits) & 0x3F))
                initialized += 1
            }
        }
    }

    /// The bytes of `text`; nil unless it is exactly what `encode` makes of them.
    ///
    /// Padding, other alphabets, white space and stray bits in the last character are refused, so that no two texts
    /// stand for the same bytes (RFC 4648 3.5).
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Self.decoded(Array(text.utf8)[...])
    }

    /// The bytes of ASCII text, by the same rules.
    package static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            guard let value = Self.value(character) else { return nil }
            pending = pending << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
            }
        }
        guard pending & (1 << bits - 1) == 0 else { return nil }
        return bytes
    }

    private static func character(_ value: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        return switch value {
        case 0..<26: 0x41 + value
        case 26..<52: 0x61 + value - 26
        case 52..<62: 0x30 + value - 52
        case 62: 0x2D
        default: 0x5F
        }
    }

    private static func value(_ character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5A: UInt32(character - 0x41)
        case 0x61...0x7A: UInt32(character - 0x61 + 26)
        case 0x30...0x39: UInt32(character - 0x30 + 52)
        case 0x2D: 62
        case 0x5F: 63
        default: nil
        }
    }
}
