/// Why the plaintext of a record cannot be read. It has been unsealed, so we (or a later version of us) wrote it: no
/// reason to say that there is no record.
package struct RecordFormatError: Error, Sendable, Hashable {
    package init() {}
}

/// Writes the fields of a record one after the other: numbers as LEB128, strings and lists with their count in front.
/// No names and no padding; the format's version stands in front of the sealed bytes.
package struct RecordWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {
        self.bytes.reserveCapacity(512)
    }

    package mutating func write(byte: UInt8) {
        self.bytes.append(byte)
    }

    /// LEB128, seven bits a byte, least first.
    package mutating func write(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            self.bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        self.bytes.append(UInt8(rest))
    }

    /// Zigzag, so that small negative numbers are short too.
    package mutating func write(_ value: Int64) {
        self.write(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
    }

    package mutating func write(_ text: String) {
        self.write(UInt64(text.utf8.count))
        self.bytes.append(contentsOf: text.utf8)
    }

    /// A byte that says whether there is one, then the value.
    package mutating func write<Value>(optional value: Value?, _ write: (inout RecordWriter, Value) -> Void) {
        self.write(byte: value == nil ? 0 : 1)
        if let value { write(&self, value) }
    }

    /// The count, then each.
    package mutating func write<Value>(list: [Value], _ write: (inout RecordWriter, Value) -> Void) {
        self.write(UInt64(list.count))
        for value in list { write(&self, value) }
    }
}

/// Reads what `RecordWriter` wrote; every malformed or short input is a `RecordFormatError`.
package struct RecordReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Throws unless everything was read.
    package func finish() throws(RecordFormatError) {
        guard self.position == self.bytes.count else { throw RecordFormatError() }
    }

    package mutating func byte() throws(RecordFormatError) -> UInt8 {
        guard self.position < self.bytes.count else { throw RecordFormatError() }
        defer { self.position += 1 }
        return self.bytes[self.position]
    }

    package mutating func unsigned() throws(RecordFormatError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try self.byte()
            guard shift < 63 || (shift == 63 && byte <= 1) else { throw RecordFormatError() }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
    }

    package mutating func signed() throws(RecordFormatError) -> Int64 {
        let value = try self.unsigned()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    package mutating func text() throws(RecordFormatError) -> String {
        let count = try self.count()
        let bytes = self.bytes[self.position..<(self.position + count)]
        guard let text = String(validating: bytes, as: UTF8.self) else { throw RecordFormatError() }
        self.position += count
        return text
    }

    package mutating func optional<Value>(
        _ read: (inout RecordReader) throws(RecordFormatError) -> Value
    ) throws(RecordFormatError) -> Value? {
        switch try self.byte() {
        case 0: return nil
        case 1: return try read(&self)
        default: throw RecordFormatError()
        }
    }

    package mutating func list<Value>(
        _ read: (inout RecordReader) throws(RecordFormatError) -> Value
    ) throws(RecordFormatError) -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try self.count()) { values.append(try read(&self)) }
        return values
    }

    /// A count of bytes or elements: each takes a byte at least, so no more than are left.
    private mutating func count() throws(RecordFormatError) -> Int {
        let count = try self.unsigned()
        guard count <= UInt64(self.bytes.count - self.position) else { throw RecordFormatError() }
        return Int(count)
    }
}
