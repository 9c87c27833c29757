/// Base64 with the URL-safe alphabet and without padding (RFC 4648 5 and 3.2).
package enum Base64URL {
    /// The text of `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Array(bytes).withUnsafeBytes { Self.encode($0) }
    }

    /// The text of `bytes`, written where it stays.
    static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: Base64Group.length(bytes.count)) {
            Base64Group.encode(bytes, in: .url, into: $0)
        }
    }

    /// The text of `bytes` as ASCII.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Base64Group.length(bytes.count)) { buffer, initialized in
            initialized = bytes.withUnsafeBytes { Base64Group.encode($0, in: .url, into: buffer) }
        }
    }

    /// Appends the text of `bytes` as ASCII.
    static func append(_ bytes: UnsafeRawBufferPointer, to target: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Base64Group.length(bytes.count)) { buffer in
            target.append(contentsOf: buffer.prefix(Base64Group.encode(bytes, in: .url, into: buffer)))
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
        Base64Group.decoded(text, in: .url)
    }
}

/// Base64 with the standard alphabet, padded to a multiple of four (RFC 4648 4): what HTTP Basic (RFC 7617) and hashes in
/// a Content-Security-Policy (CSP3 2.3.1) are written in.
package enum Base64 {
    /// The text of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Self.encoded(bytes), as: UTF8.self)
    }

    /// The text of `bytes` as ASCII.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        let length = (bytes.count + 2) / 3 * 4
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, initialized in
            initialized = bytes.withUnsafeBytes { Base64Group.encode($0, in: .standard, into: buffer) }
            while initialized < length {
                buffer[initialized] = UInt8(ascii: "=")
                initialized += 1
            }
        }
    }

    /// The bytes of ASCII text; nil unless it is exactly what `encoded` makes of them.
    package static func decoded(_ text: [UInt8]) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard text.count % 4 == 0, padding <= 2 else { return nil }
        return Base64Group.decoded(text.dropLast(padding), in: .standard)
    }
}

/// What both kinds of base64 share: four characters stand for three bytes.
private enum Base64Group {
    enum Alphabet {
        case standard, url

        func character(_ value: UInt32) -> UInt8 {
            let characters: StaticString =
                switch self {
                case .standard: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                case .url: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                }
            return characters.utf8Start[Int(value & 0x3F)]
        }

        func value(_ character: UInt8) -> UInt32? {
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a") + 26)
            case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0") + 52)
            case self == .url ? UInt8(ascii: "-") : UInt8(ascii: "+"): 62
            case self == .url ? UInt8(ascii: "_") : UInt8(ascii: "/"): 63
            default: nil
            }
        }
    }

    /// How many characters so many bytes take, without padding.
    static func length(_ count: Int) -> Int { (count * 4 + 2) / 3 }

    /// Writes the text of `bytes` without padding; returns how many characters were written.
    static func encode(
        _ bytes: UnsafeRawBufferPointer,
        in alphabet: Alphabet,
        into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var written = 0
        /// Writes the first characters of four that stand for three bytes.
        func write(_ three: UInt32, _ count: Int) {
            for place in 0..<count {
                target[written] = alphabet.character(three >> (18 - 6 * UInt32(truncatingIfNeeded: place)))
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

    /// The bytes of text without padding; nil when a character is of no alphabet, or the last one holds bits of no byte.
    static func decoded(_ text: ArraySlice<UInt8>, in alphabet: Alphabet) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            guard let value = alphabet.value(character) else { return nil }
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
}
