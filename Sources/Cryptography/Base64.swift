/// Base64 with the URL-safe alphabet and without padding (RFC 4648 5 and 3.2).
package enum Base64URL {
    /// Encodes `bytes`.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Array(bytes).withUnsafeBytes { Self.encode($0) }
    }

    /// Encodes `bytes`.
    package static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: Base64Group.length(bytes.count)) {
            Base64Group.encode(bytes, in: .url, into: $0)
        }
    }

    /// Encodes `bytes` as ASCII bytes.
    package static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Base64Group.length(bytes.count)) { buffer, initialized in
            initialized = bytes.withUnsafeBytes { Base64Group.encode($0, in: .url, into: buffer) }
        }
    }

    /// Encodes `bytes` and appends the ASCII bytes to `target`.
    static func append(_ bytes: UnsafeRawBufferPointer, to target: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Base64Group.length(bytes.count)) { buffer in
            target.append(contentsOf: buffer.prefix(Base64Group.encode(bytes, in: .url, into: buffer)))
        }
    }

    /// Decodes `text`; `nil` unless `encode` would produce exactly this text.
    ///
    /// Padding, other alphabets, white space and unused bits in the last character are rejected, so that two different
    /// texts never decode to equal bytes (RFC 4648 3.5).
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        Self.decoded(Array(text.utf8)[...])
    }

    /// Decodes ASCII bytes; `nil` unless `encoded` would produce exactly these bytes.
    package static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Base64Group.decoded(text, in: .url)
    }

    /// Returns true if every byte is a character of the alphabet.
    package static func isText(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        Base64Group.Alphabet.url.values.withUnsafeBufferPointer { values in
            var seen: UInt8 = 0
            for byte in UnsafeRawBufferPointer(rebasing: text) { seen |= values[Int(byte)] }
            return seen & Base64Group.Alphabet.none == 0
        }
    }
}

/// Base64 with the standard alphabet, padded to a multiple of four (RFC 4648 4). It is used by HTTP Basic (RFC 7617)
/// and by the hashes in a Content-Security-Policy (CSP3 2.3.1).
package enum Base64 {
    /// Encodes `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: Self.encoded(bytes), as: UTF8.self)
    }

    /// Encodes `bytes` as ASCII bytes.
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

    /// Encodes `bytes` without padding, as in PHC strings.
    static func encodedWithoutPadding(_ bytes: [UInt8]) -> String {
        String(decoding: Self.encoded(bytes).filter { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }

    /// Decodes ASCII bytes; `nil` unless `encoded` would produce exactly these bytes.
    package static func decoded(_ text: [UInt8]) -> [UInt8]? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard text.count % 4 == 0, padding <= 2 else { return nil }
        return Base64Group.decoded(text.dropLast(padding), in: .standard)
    }

    /// Decodes ASCII bytes without padding, as in PHC strings; `nil` if they are malformed.
    static func decodedWithoutPadding(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Base64Group.decoded(text, in: .standard)
    }
}

/// Encodes and decodes with either alphabet: four characters encode three bytes.
private enum Base64Group {
    struct Alphabet: Sendable {
        static let standard = Alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        static let url = Alphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        /// Marks bytes outside the alphabet. The values of characters have only six bits.
        static let none: UInt8 = 0x80

        /// The characters, indexed by value.
        let characters: [UInt8]
        /// The values, indexed by character. A table avoids branches that the processor could not predict.
        let values: [UInt8]

        init(_ text: StaticString) {
            var values = [UInt8](repeating: Self.none, count: 256)
            self.characters = text.withUTF8Buffer(Array.init)
            for (value, character) in self.characters.enumerated() { values[Int(character)] = UInt8(value) }
            self.values = values
        }
    }

    /// Returns the number of characters that `count` bytes need without padding.
    static func length(_ count: Int) -> Int { (count * 4 + 2) / 3 }

    /// Encodes `bytes` without padding, and returns the number of characters written.
    static func encode(
        _ bytes: UnsafeRawBufferPointer,
        in alphabet: Alphabet,
        into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        alphabet.characters.withUnsafeBufferPointer { characters in
            var written = 0
            /// Writes the first `count` of the four characters that encode three bytes.
            func write(_ three: UInt32, _ count: Int) {
                for place in 0..<count {
                    target[written] = characters[Int(three >> (18 - 6 * UInt32(truncatingIfNeeded: place)) & 0x3F)]
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
    }

    /// Decodes text without padding; `nil` if a character is invalid or the last one has unused bits.
    static func decoded(_ text: ArraySlice<UInt8>, in alphabet: Alphabet) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        let rest = text.count % 4
        var isGood = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { target, written in
            text.withUnsafeBufferPointer { text in
                alphabet.values.withUnsafeBufferPointer { values in
                    /// The bitwise OR of all values so far, checked at the end.
                    var seen: UInt8 = 0
                    func value(_ place: Int) -> UInt32 {
                        let value = values[Int(text[place])]
                        seen |= value
                        return UInt32(truncatingIfNeeded: value)
                    }
                    var read = 0
                    // The indices cannot overflow, because both stay below the length of the text.
                    while read < text.count - rest {
                        let three =
                            value(read) << 18 | value(read &+ 1) << 12 | value(read &+ 2) << 6 | value(read &+ 3)
                        target[written] = UInt8(truncatingIfNeeded: three >> 16)
                        target[written &+ 1] = UInt8(truncatingIfNeeded: three >> 8)
                        target[written &+ 2] = UInt8(truncatingIfNeeded: three)
                        written &+= 3
                        read &+= 4
                    }
                    if rest == 2 {
                        let last = value(read) << 6 | value(read + 1)
                        target[written] = UInt8(truncatingIfNeeded: last >> 4)
                        written += 1
                        isGood = last & 0xF == 0
                    } else if rest == 3 {
                        let last = value(read) << 12 | value(read + 1) << 6 | value(read + 2)
                        target[written] = UInt8(truncatingIfNeeded: last >> 10)
                        target[written + 1] = UInt8(truncatingIfNeeded: last >> 2)
                        written += 2
                        isGood = last & 0x3 == 0
                    }
                    isGood = isGood && seen & Alphabet.none == 0
                }
            }
        }
        return isGood ? bytes : nil
    }
}
