import Settings
import Vocabulary

/// Writes values as the text of a field. Throws if an app could misread the text.
struct IdentityText {
    /// The separator of the elements of a list.
    let delimiter: UInt8
    let encoding: IdentitySettings.Encoding

    /// The error for a text that an app could read as another value.
    struct Unsafe: Error {}

    /// Appends a value as text. Appends nothing for an object or a missing value.
    ///
    /// - Parameter isList: True if a single string is written as a list with one element.
    func append(_ value: JSONValue?, isList: Bool, to bytes: inout ContiguousArray<UInt8>) throws(Unsafe) {
        switch value {
        case nil, .null, .object: break
        case .array(let elements): try self.append(elements, to: &bytes)
        case .string where isList: try self.append([value ?? .null], to: &bytes)
        case .some(let scalar): try self.append(scalar, to: &bytes)
        }
    }

    /// Appends a string that is given as UTF-8.
    func append(_ text: ArraySlice<UInt8>, to bytes: inout ContiguousArray<UInt8>) throws(Unsafe) {
        if text.withUnsafeBufferPointer({ self.encode($0, to: &bytes) }) { throw Unsafe() }
    }

    /// Appends a token unchanged. Throws if it contains anything but visible ASCII (RFC 6750 2.1, RFC 6749 A.12).
    func append(token: Secret?, to bytes: inout ContiguousArray<UInt8>) throws(Unsafe) {
        guard let token else { return }
        guard token.bytes.allSatisfy({ (0x21..<0x7F).contains($0) }) else { throw Unsafe() }
        bytes.append(contentsOf: token.bytes)
    }

    /// Appends the elements of a list in order. Empty and `null` elements are omitted.
    private func append(_ elements: [JSONValue], to bytes: inout ContiguousArray<UInt8>) throws(Unsafe) {
        let start = bytes.count
        for element in elements {
            let end = bytes.count
            if end > start { bytes.append(self.delimiter) }
            let first = bytes.count
            try self.append(element, to: &bytes)
            guard bytes.count > first else {
                bytes.removeSubrange(end...)
                continue
            }
            // The element `a,admin` must not become two groups.
            guard !bytes[first...].contains(self.delimiter) else { throw Unsafe() }
        }
    }

    private func append(_ scalar: JSONValue, to bytes: inout ContiguousArray<UInt8>) throws(Unsafe) {
        if scalar == .null { return }
        guard var text = scalar.scalarText, !text.withUTF8({ self.encode($0, to: &bytes) }) else { throw Unsafe() }
    }

    /// Appends a text in the configured encoding. CR, LF and NUL are rejected in every encoding (CVE-2023-27493).
    ///
    /// - Returns: True if the text is unsafe.
    private func encode(_ source: UnsafeBufferPointer<UInt8>, to bytes: inout ContiguousArray<UInt8>) -> Bool {
        if source.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != 0x25 }) {
            bytes.append(contentsOf: source)
            return false
        }
        switch self.encoding {
        case .percent: return Self.escape(source, to: &bytes)
        case .utf8:
            guard Self.staysWhole(source) else { return true }
            bytes.append(contentsOf: source)
            return false
        }
    }

    /// Percent-encodes control characters, bytes beyond ASCII, `%`, and spaces at either end.
    ///
    /// - Returns: True if the text is unsafe.
    private static func escape(_ source: UnsafeBufferPointer<UInt8>, to bytes: inout ContiguousArray<UInt8>) -> Bool {
        for (index, byte) in source.enumerated() {
            let isOuterSpace = byte == 0x20 && (index == 0 || index == source.count - 1)
            switch byte {
            case 0x00, 0x0A, 0x0D: return true
            case _ where isOuterSpace, 0x25, 0x01..<0x20, 0x7F...:
                Hexadecimal.appendEscape(of: byte, to: &bytes)
            default: bytes.append(byte)
            }
        }
        return false
    }

    /// Returns whether every app reads exactly this text. False for control characters, line separators, and white
    /// space at either end, because some apps end lines there or trim.
    private static func staysWhole(_ source: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let scalars = String(utf8: source)?.unicodeScalars, let first = scalars.first, let last = scalars.last
        else { return false }
        return !Self.isTrimmed(first) && !Self.isTrimmed(last)
            && scalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
    }

    /// Returns whether some apps trim this character. JavaScript also trims U+FEFF.
    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{FEFF}"
    }
}
