import Vocabulary

/// Writes values of a session as the text of a field (DESIGN 2): what comes out means one thing, or nothing comes out.
struct IdentityText {
    /// Stands between the elements of a list.
    let delimiter: UInt8

    /// The value cannot be a field's text without meaning something else.
    struct Unsafe: Error {}

    /// A value as text; nil when there is none, for no field is ever empty.
    ///
    /// - Parameter isList: the field is a list even where the session has one element of it as a string.
    func text(_ value: JSONValue?, isList: Bool) throws(Unsafe) -> [UInt8]? {
        switch value {
        case nil, .null, .object: return nil
        case .array(let elements): return try self.list(elements)
        case .string where isList: return try self.list([value ?? .null])
        case .some(let scalar):
            let text = try self.scalar(scalar)
            return text.isEmpty ? nil : text
        }
    }

    private func list(_ elements: [JSONValue]) throws(Unsafe) -> [UInt8]? {
        var joined: [UInt8] = []
        for element in elements {
            let text = try self.scalar(element)
            if text.isEmpty { continue }
            // `a,admin` must not become two groups (peers C1 #9).
            guard !text.contains(self.delimiter) else { throw Unsafe() }
            if !joined.isEmpty { joined.append(self.delimiter) }
            joined += text
        }
        return joined.isEmpty ? nil : joined
    }

    private func scalar(_ value: JSONValue) throws(Unsafe) -> [UInt8] {
        switch value {
        case .null: []
        case .bool(let flag): Array((flag ? "true" : "false").utf8)
        case .integer(let number): Array(String(number).utf8)
        case .number(let number): Array(String(number).utf8)
        case .string(let text): try Self.escaped(text)
        case .array, .object: throw Unsafe()
        }
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// CR, LF and NUL are refused, not mended (CVE-2023-27493). Other controls, bytes beyond ASCII, `%`, and spaces at
    /// either end, which a reader would trim away, are percent-encoded: decoding gives the value back.
    static func escaped(_ text: String) throws(Unsafe) -> [UInt8] {
        let source = Array(text.utf8)
        if source.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != 0x25 }) { return source }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        for (index, byte) in source.enumerated() {
            let isOuterSpace = byte == 0x20 && (index == 0 || index == source.count - 1)
            switch byte {
            case 0x00, 0x0A, 0x0D: throw Unsafe()
            case _ where isOuterSpace, 0x25, 0x01..<0x20, 0x7F...:
                bytes += [0x25, Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}
