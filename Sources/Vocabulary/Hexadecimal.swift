/// Hexadecimal digits. Reading ignores their case (RFC 3986 2.1, RFC 9112 7.1).
package enum Hexadecimal {
    /// Returns the value of a digit; `nil` for any other byte.
    @inlinable @inline(__always)
    package static func value(_ byte: UInt8) -> UInt8? {
        if byte &- 0x30 <= 9 { return byte &- 0x30 }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// Returns the byte that two digits represent; `nil` unless both are digits.
    @inlinable @inline(__always)
    package static func byte(_ high: UInt8, _ low: UInt8) -> UInt8? {
        guard let high = Self.value(high), let low = Self.value(low) else { return nil }
        return high &<< 4 | low
    }

    /// Returns the byte that the `%XX` at `index` encodes; `nil` unless two digits follow the `%`.
    @inlinable @inline(__always)
    package static func escape(_ bytes: UnsafePointer<UInt8>, at index: Int, _ count: Int) -> UInt8? {
        guard index &+ 2 < count else { return nil }
        return Self.byte(bytes[index &+ 1], bytes[index &+ 2])
    }

    /// Appends the two digits of `byte` in lower case.
    package static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(Self.digit(byte >> 4, ten: UInt8(ascii: "a")))
        bytes.append(Self.digit(byte & 15, ten: UInt8(ascii: "a")))
    }

    /// Appends `byte` as `%XX` in upper case, as RFC 3986 2.1 recommends.
    package static func appendEscape(of byte: UInt8, to bytes: inout some RangeReplaceableCollection<UInt8>) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(Self.digit(byte >> 4, ten: UInt8(ascii: "A")))
        bytes.append(Self.digit(byte & 15, ten: UInt8(ascii: "A")))
    }

    private static func digit(_ value: UInt8, ten: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : ten + value - 10
    }
}
