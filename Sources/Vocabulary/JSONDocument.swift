/// A JSON document in a binary encoding. Reading one value decodes only this value: a provider may store much more
/// about a user than a request needs.
///
/// Each value is encoded as a byte for its kind, followed by its content as `CompactWriter` writes it. Objects are
/// sorted by member name. Equal documents therefore have equal bytes.
package struct JSONDocument: Sendable, Hashable {
    /// The maximum depth.
    private static let maxDepth = 64

    private enum Kind {
        static let null: UInt8 = 0
        static let no: UInt8 = 1
        static let yes: UInt8 = 2
        static let integer: UInt8 = 3
        static let number: UInt8 = 4
        static let string: UInt8 = 5
        static let array: UInt8 = 6
        static let object: UInt8 = 7
    }

    /// The bytes. They are empty for null, the most frequent document.
    private let bytes: [UInt8]

    package init(_ value: JSONValue) {
        guard value != .null else {
            self.init(written: [])
            return
        }
        var writer = CompactWriter()
        Self.write(value, to: &writer)
        self.init(written: writer.bytes[...])
    }

    /// - Parameter written: The whole document. It is copied, to release a larger array or unused capacity.
    private init(written: ArraySlice<UInt8>) {
        self.bytes = written == [Kind.null] ? [] : written.withUnsafeBufferPointer { Array($0) }
    }

    /// Reads a document from `reader` and checks its structure.
    package init(from reader: inout CompactReader) throws(CompactFormatError) {
        self.init(
            written: try reader.taken { (reader) throws(CompactFormatError) in
                try Self.skip(&reader, depth: Self.maxDepth)
            }
        )
    }

    /// The whole document as a value.
    package var value: JSONValue {
        var reader = CompactReader(self.bytes)
        // Each initializer guarantees a valid structure.
        return (try? Self.read(&reader)) ?? .null
    }

    /// Returns the UTF-8 text of a string at a path of member names; `nil` if a step is missing or the value is not a
    /// string.
    package func text(at path: [[UInt8]]) -> ArraySlice<UInt8>? {
        var reader = CompactReader(self.bytes)
        do throws(CompactFormatError) {
            for name in path where try !Self.enter(name, &reader) { return nil }
            return try reader.byte() == Kind.string ? try reader.run() : nil
        } catch {
            return nil
        }
    }

    /// Returns the value at a path of member names; `nil` if a step is missing.
    package func value(at path: [[UInt8]]) -> JSONValue? {
        var reader = CompactReader(self.bytes)
        do throws(CompactFormatError) {
            for name in path where try !Self.enter(name, &reader) { return nil }
            return try Self.read(&reader)
        } catch {
            return nil
        }
    }

    /// Returns the value of one member; `nil` if it is missing.
    package subscript(name: String) -> JSONValue? { self.value(at: [Array(name.utf8)]) }

    /// Writes the whole document as JSON.
    package func write(to json: inout JSONWriter) {
        guard !self.bytes.isEmpty else { return json.writeNull() }
        var reader = CompactReader(self.bytes)
        // Each initializer guarantees a valid structure.
        try? Self.copy(&reader, to: &json)
    }

    /// Writes the document in its binary encoding.
    package func write(to writer: inout CompactWriter) {
        if self.bytes.isEmpty { writer.write(byte: Kind.null) } else { writer.append(self.bytes[...]) }
    }

    // MARK: Steps

    private static func write(_ value: JSONValue, to writer: inout CompactWriter) {
        switch value {
        case .null: writer.write(byte: Kind.null)
        case .bool(let value): writer.write(byte: value ? Kind.yes : Kind.no)
        case .integer(let value):
            writer.write(byte: Kind.integer)
            writer.write(value)
        case .number(let value):
            writer.write(byte: Kind.number)
            writer.write(value.bitPattern)
        case .string(let value):
            writer.write(byte: Kind.string)
            writer.write(value)
        case .array(let values):
            writer.write(byte: Kind.array)
            writer.write(list: values) { Self.write($1, to: &$0) }
        case .object(let members):
            writer.write(byte: Kind.object)
            writer.write(list: members.sorted { $0.key < $1.key }) {
                $0.write($1.key)
                Self.write($1.value, to: &$0)
            }
        }
    }

    private static func read(_ reader: inout CompactReader) throws(CompactFormatError) -> JSONValue {
        switch try reader.byte() {
        case Kind.null: return .null
        case Kind.no: return .bool(false)
        case Kind.yes: return .bool(true)
        case Kind.integer: return .integer(try reader.signed())
        case Kind.number: return .number(Double(bitPattern: try reader.unsigned()))
        case Kind.string: return .string(try reader.text())
        case Kind.array:
            return .array(try reader.list { (reader) throws(CompactFormatError) in try Self.read(&reader) })
        case Kind.object:
            let members = try reader.list { (reader) throws(CompactFormatError) in
                (try reader.text(), try Self.read(&reader))
            }
            return .object(Dictionary(members, uniquingKeysWith: { $1 }))
        default: throw CompactFormatError()
        }
    }

    private static func copy(_ reader: inout CompactReader, to json: inout JSONWriter) throws(CompactFormatError) {
        switch try reader.byte() {
        case Kind.no: json.write(false)
        case Kind.yes: json.write(true)
        case Kind.integer: json.write(try reader.signed())
        case Kind.number: json.write(Double(bitPattern: try reader.unsigned()))
        case Kind.string: try reader.run().withUnsafeBufferPointer { json.write($0) }
        case Kind.array:
            let count = try reader.count()
            try json.array { (json) throws(CompactFormatError) in
                for _ in 0..<count { try Self.copy(&reader, to: &json) }
            }
        case Kind.object:
            let count = try reader.count()
            try json.object { (json) throws(CompactFormatError) in
                for _ in 0..<count {
                    try reader.run().withUnsafeBufferPointer { json.name($0) }
                    try Self.copy(&reader, to: &json)
                }
            }
        default: json.writeNull()
        }
    }

    private static func skip(_ reader: inout CompactReader, depth: Int) throws(CompactFormatError) {
        guard depth > 0 else { throw CompactFormatError() }
        switch try reader.byte() {
        case Kind.null, Kind.no, Kind.yes: break
        case Kind.integer, Kind.number: _ = try reader.unsigned()
        case Kind.string: _ = try reader.run()
        case Kind.array: for _ in 0..<(try reader.count()) { try Self.skip(&reader, depth: depth - 1) }
        case Kind.object:
            for _ in 0..<(try reader.count()) {
                _ = try reader.run()
                try Self.skip(&reader, depth: depth - 1)
            }
        default: throw CompactFormatError()
        }
    }

    /// Moves to the value of a member, or returns false if the object does not have it.
    private static func enter(_ name: [UInt8], _ reader: inout CompactReader) throws(CompactFormatError) -> Bool {
        guard try reader.byte() == Kind.object else { return false }
        for _ in 0..<(try reader.count()) {
            let member = try reader.run()
            if member.count == name.count && member.elementsEqual(name) { return true }
            try Self.skip(&reader, depth: Self.maxDepth)
        }
        return false
    }
}
