/// Base64 with the URL-safe alphabet and without padding (RFC 4648 5 and 3.2).
package enum Base64URL {
    /// The text of `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Array(bytes).withUnsafeBytes { Self.encode($0) }
    }

    /// The text of `bytes`, written directly into the string.
    static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: Self.length(bytes.count)) { Self.encode(bytes, into: $0) }
    }

    /// The text of `bytes` as ASCII.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.length(bytes.count)) { buffer, initialized in
            initialized = bytes.withUnsafeBytes { Self.encode($0, into: buffer) }
        }
    }

    /// Appends the text of `bytes` as ASCII.
    static func append(_ bytes: UnsafeRawBufferPointer, to target: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.length(bytes.count)) { buffer in
            target.append(contentsOf: buffer.prefix(Self.encode(bytes, into: buffer)))
        }
    }

    /// The number of characters for `count` bytes.
    private static func length(_ count: Int) -> Int { (count * 4 + 2) / 3 }

    /// Returns how many characters were written.
    private static func encode(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var written = 0
        /// Writes the first characters of four that encode three bytes.
        func write(_ three: UInt32, _ count: Int) {
            for place in 0..<count {
                target[written] = Self.character(three >> (18 - 6 * UInt32(truncatingIfNeeded: place)))
                written += 1
            }
        }
        var read = 0
        while read + 3 <= bytes.count {
            write(UInt32(bytes[read]) << 16 | UInt32(bytes[read + 1]) << 8 | UInt32(bytes[read + 2]), 4)
            read += 3
        }
        if read + 1 < bytes.count {
            write(UInt32(bytes[read]) << 16 | UInt32(bytes[read + 1]) << 8, 3)
        } else if read < bytes.count {
            write(UInt32(bytes[read]) << 16, 2)
        }
        return written
    }

    /// The bytes of `text`; nil unless it is exactly what `encode` makes of them.
    ///
    /// Padding, other alphabets, white space and stray bits in the last character are refused, so that two texts never
    /// decode to the same bytes (RFC 4648 3.5).
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

    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    private static func character(_ value: UInt32) -> UInt8 { self.alphabet.utf8Start[Int(value & 0x3F)] }

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
