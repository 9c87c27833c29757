/// An error for bytes that are not valid output of `CompactWriter`.
@usableFromInline
package struct CompactFormatError: Error, Sendable, Hashable {
    @usableFromInline package init() {}
}

/// Writes values without names or types: numbers as LEB128, strings and lists preceded by their count. The reader must
/// know the order of the values.
@usableFromInline
package struct CompactWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {
        self.bytes.reserveCapacity(512)
    }

    @usableFromInline package mutating func write(byte: UInt8) {
        self.bytes.append(byte)
    }

    /// Writes LEB128: seven bits in each byte, lowest first.
    @usableFromInline package mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }

    /// Writes a number in zigzag encoding. Small negative numbers are as short as small positive ones.
    package mutating func write(_ value: Int64) {
        self.write(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    package mutating func write(_ text: String) {
        var text = text
        // One copy of the whole buffer, instead of one byte at a time.
        text.withUTF8 { utf8 in
            self.write(UInt64(utf8.count))
            self.bytes.append(contentsOf: utf8)
        }
    }

    /// Writes the number of bytes, then the bytes.
    package mutating func write(_ secret: Secret) {
        self.write(UInt64(secret.bytes.count))
        self.bytes.append(contentsOf: secret.bytes)
    }

    /// Appends bytes that another writer wrote.
    mutating func append(_ written: ArraySlice<UInt8>) {
        self.bytes.append(contentsOf: written)
    }

    /// Writes the byte 1 and the value, or the byte 0 if the value is `nil`.
    @inlinable package mutating func write<Value>(
        optional value: Value?,
        _ write: (inout CompactWriter, Value) -> Void
    ) {
        self.write(byte: value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }

    /// Writes the number of elements, then each element.
    @inlinable package mutating func write<Value>(list: [Value], _ write: (inout CompactWriter, Value) -> Void) {
        self.write(UInt64(list.count))
        for value in list { write(&self, value) }
    }
}

/// Reads the output of `CompactWriter`. Malformed or incomplete input throws `CompactFormatError`.
@usableFromInline
package struct CompactReader {
    @usableFromInline let bytes: ArraySlice<UInt8>
    @usableFromInline var position: Int

    package init(_ bytes: [UInt8]) {
        self.init(bytes[...])
    }

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        self.position = bytes.startIndex
    }

    /// True if all bytes have been read.
    package var isAtEnd: Bool { self.position == self.bytes.endIndex }

    /// Throws unless all bytes have been read.
    package func finish() throws(CompactFormatError) {
        guard self.isAtEnd else { throw CompactFormatError() }
    }

    @inlinable package mutating func byte() throws(CompactFormatError) -> UInt8 {
        guard self.position < self.bytes.endIndex else { throw CompactFormatError() }
        defer { self.position += 1 }
        return self.bytes[self.position]
    }

    package mutating func unsigned() throws(CompactFormatError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try self.byte()
            guard shift < 63 || (shift == 63 && byte <= 1) else { throw CompactFormatError() }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    package mutating func signed() throws(CompactFormatError) -> Int64 {
        let value = try self.unsigned()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    package mutating func text() throws(CompactFormatError) -> String {
        guard let text = String(utf8: try self.run()) else { throw CompactFormatError() }
        return text
    }

    package mutating func secret() throws(CompactFormatError) -> Secret { Secret(Array(try self.run())) }

    /// Reads a number of bytes, then the bytes.
    mutating func run() throws(CompactFormatError) -> ArraySlice<UInt8> {
        let count = try self.count()
        let end = self.position + count
        defer { self.position = end }
        return self.bytes[self.position..<end]
    }

    /// Returns the bytes that `read` consumes.
    mutating func taken(
        by read: (inout CompactReader) throws(CompactFormatError) -> Void
    ) throws(CompactFormatError) -> ArraySlice<UInt8> {
        let start = self.position
        try read(&self)
        return self.bytes[start..<self.position]
    }

    @inlinable package mutating func optional<Value>(
        _ read: (inout CompactReader) throws(CompactFormatError) -> Value
    ) throws(CompactFormatError) -> Value? {
        switch try self.byte() {
        case 0: return nil
        case 1: return try read(&self)
        default: throw CompactFormatError()
        }
    }

    @inlinable package mutating func list<Value>(
        _ read: (inout CompactReader) throws(CompactFormatError) -> Value
    ) throws(CompactFormatError) -> [Value] {
        let count = try self.count()
        var values: [Value] = []
        values.reserveCapacity(min(count, 16))
        for _ in 0..<count { values.append(try read(&self)) }
        return values
    }

    /// Reads a number of bytes or elements. Throws if it exceeds the number of remaining bytes.
    @usableFromInline mutating func count() throws(CompactFormatError) -> Int {
        let count = try self.unsigned()
        guard count <= UInt64(self.bytes.endIndex - self.position) else { throw CompactFormatError() }
        return Int(count)
    }
}
