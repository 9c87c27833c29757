/// Percent-encoding (RFC 3986 2.1).
package enum PercentCoding {
    /// The bytes decoded once; nil when a `%` lacks its two hexadecimal digits.
    ///
    /// - Parameter plusIsSpace: `+` stands for a space, as in `application/x-www-form-urlencoded`.
    package static func decoded(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        self.decode(bytes, plusIsSpace: plusIsSpace, isStrict: true)
    }

    /// The bytes decoded once as most apps do it (WHATWG URL 1.3): a `%` without two hexadecimal digits stands for itself.
    ///
    /// - Parameter plusIsSpace: `+` stands for a space, as in `application/x-www-form-urlencoded`.
    package static func leniently(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8] {
        self.decode(bytes, plusIsSpace: plusIsSpace, isStrict: false) ?? []
    }

    private static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool, isStrict: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            let digits = rest.prefix(2)
            if digits.count == 2, let high = digits.first,
                let value = Hexadecimal.byte(high, digits[digits.index(after: digits.startIndex)])
            {
                decoded.append(value)
                rest = rest[digits.endIndex...]
            } else if isStrict {
                return nil
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// `text` with every byte but the unreserved ones (RFC 3986 2.3) percent-encoded: fit for a query value.
    package static func encoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                Hexadecimal.appendEscape(of: byte, to: &encoded)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

/// Names and values of `application/x-www-form-urlencoded` (WHATWG URL 5.1): split at `&`, the first `=` parts name and
/// value, `+` is a space.
package enum FormText {
    /// The pairs in order, without empty ones; a broken escape stands for itself, and bytes that are no UTF-8 are replaced.
    /// So every query has a reading.
    package static func pairs(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)] {
        self.split(bytes).map { name, value in
            (
                String(decoding: PercentCoding.leniently(name, plusIsSpace: true), as: UTF8.self),
                String(decoding: PercentCoding.leniently(value, plusIsSpace: true), as: UTF8.self)
            )
        }
    }

    /// The pairs in order, without empty ones; nil when an escape is broken or a text is no UTF-8.
    package static func strictPairs(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)]? {
        var pairs: [(name: String, value: String)] = []
        for (name, value) in self.split(bytes) {
            guard let name = self.text(name), let value = self.text(value) else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    private static func split<Text: Collection<UInt8>>(
        _ bytes: Text
    ) -> [(name: Text.SubSequence, value: Text.SubSequence)] {
        bytes.split(separator: UInt8(ascii: "&")).map { pair in
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (pair[..<equals], pair[equals...].dropFirst())
        }
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String? {
        PercentCoding.decoded(bytes, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
