/// Names and values of `application/x-www-form-urlencoded` (WHATWG URL 5.1). `&` separates pairs, the first `=`
/// separates name and value, and `+` is a space.
package enum FormText {
    /// Returns the pairs in order, without empty ones. Never fails: broken escapes are kept, and bytes that are not
    /// UTF-8 are replaced.
    package static func pairs(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)] {
        func text(_ bytes: Part) -> String {
            String(decoding: PercentCoding.decode(bytes, plusIsSpace: true, isStrict: false) ?? [], as: UTF8.self)
        }
        return bytes.withBytes { self.split($0).map { (text($0.name), text($0.value)) } }
    }

    /// Returns the pairs in order, without empty ones; `nil` if an escape is broken or a text is not UTF-8.
    package static func strictPairs(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)]? {
        func text(_ bytes: Part) -> String? {
            let isPlain = !bytes.contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }
            if isPlain { return String(validating: bytes, as: UTF8.self) }
            return PercentCoding.decode(bytes, plusIsSpace: true, isStrict: true)
                .flatMap { String(validating: $0, as: UTF8.self) }
        }
        return bytes.withBytes { bytes in
            var pairs: [(name: String, value: String)] = []
            for (name, value) in self.split(bytes) {
                guard let name = text(name), let value = text(value) else { return nil }
                pairs.append((name, value))
            }
            return pairs
        }
    }

    /// Returns the pairs as a query. All bytes except RFC 3986's unreserved ones are escaped.
    package static func encoded(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\(PercentCoding.encoded($0.name))=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
    }

    private typealias Part = UnsafeBufferPointer<UInt8>

    private static func split(_ bytes: Part) -> [(name: Part, value: Part)] {
        bytes.split(separator: UInt8(ascii: "&")).map { pair in
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (Part(rebasing: pair[..<equals]), Part(rebasing: pair[equals...].dropFirst()))
        }
    }
}
