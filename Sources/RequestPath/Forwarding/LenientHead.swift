/// Rewrites the head of an old server's answer in the strict form of RFC 9112. The parser then checks the result.
///
/// Used only for upstreams with `answers: lenient`, and only for heads that the parser has refused.
package enum LenientHead {
    package enum Outcome: Equatable {
        case incomplete
        /// The head cannot be rewritten, or rewriting does not change it.
        case same
        /// The strict head. It replaces the first `count` bytes of the answer.
        case rewritten([UInt8], count: Int)
    }

    private struct Field {
        var name: ArraySlice<UInt8>
        var value: [UInt8]
        var isDropped = false

        func isNamed(_ other: StaticString) -> Bool {
            self.name.withUnsafeBufferPointer { ByteClass.equal($0, other) }
        }
    }

    /// Replaces a status from 600 to 999. Recipients should treat it as 5xx (RFC 9110 15).
    private static let status = Array("500".utf8)

    /// Corrects bare LF, an empty first line (RFC 9112 2.2), folded values, blanks before a colon (RFC 9112 5.1, 5.2),
    /// and statuses from 600 to 999. Removes equal repeated lengths and locations (RFC 9110 8.6), an empty length if
    /// the connection then closes, and the transfer encoding `identity` (RFC 2616 3.6).
    ///
    /// - Parameter limit: The maximum size of a head in bytes.
    package static func rewrite(_ bytes: [UInt8], limit: Int) -> Outcome {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        while true {
            guard let end = bytes[start...].firstIndex(of: 0x0A) else {
                return bytes.count <= limit ? .incomplete : .same
            }
            guard end < limit else { return .same }
            let line = bytes[start..<end]
            let content = line.last == 0x0D ? line.dropLast() : line
            let isFirst = start == 0
            start = end + 1
            if !content.isEmpty {
                lines.append(content)
            } else if !isFirst {
                break
            }
        }
        guard let statusLine = lines.first, let fields = Self.fields(lines.dropFirst()) else { return .same }
        var written = Self.status(of: statusLine)
        let isOld = statusLine.starts(with: "HTTP/1.0".utf8)
        for field in Self.mended(fields, isOld: isOld) where !field.isDropped {
            written += [0x0D, 0x0A] + field.name + [0x3A, 0x20] + field.value
        }
        written += [0x0D, 0x0A, 0x0D, 0x0A]
        return written.elementsEqual(bytes[..<start]) ? .same : .rewritten(written, count: start)
    }

    private static func status(of line: ArraySlice<UInt8>) -> [UInt8] {
        let line = Array(line)
        guard line.count >= 12, line.count == 12 || line[12] == 0x20, (0x36...0x39).contains(line[9]),
            line[10...11].allSatisfy({ (0x30...0x39).contains($0) })
        else { return line }
        return line[..<9] + Self.status + line[12...]
    }

    /// Returns the fields in these lines. `nil` if a line is not a field.
    private static func fields(_ lines: ArraySlice<ArraySlice<UInt8>>) -> [Field]? {
        var fields: [Field] = []
        for line in lines {
            if line.first.map(Self.isBlank) == true {
                guard let last = fields.indices.last else { return nil }
                fields[last].value = Array(Self.trimmed((fields[last].value + [0x20] + Self.trimmed(line))[...]))
                continue
            }
            guard let colon = line.firstIndex(of: 0x3A) else { return nil }
            let name = Self.trimmed(line[..<colon])
            guard !name.isEmpty, name.allSatisfy({ ByteClass.normalizedToken[Int($0)] != 0 }) else { return nil }
            fields.append(Field(name: name, value: Array(Self.trimmed(line[(colon + 1)...]))))
        }
        return fields
    }

    private static func mended(_ fields: [Field], isOld: Bool) -> [Field] {
        var fields = fields
        func indices(_ name: StaticString) -> [Int] { fields.indices.filter { fields[$0].isNamed(name) } }
        let (lengths, encodings) = (indices("content-length"), indices("transfer-encoding"))
        let isEncoded = encodings.count > 1 || encodings.contains { !Self.equal(fields[$0].value, "identity") }
        if !isEncoded { for index in encodings { fields[index].isDropped = true } }
        let values = lengths.flatMap { index in
            fields[index].value.split(separator: 0x2C, omittingEmptySubsequences: false).map { Array(Self.trimmed($0)) }
        }
        if let value = values.first, values.allSatisfy({ $0 == value }) {
            fields[lengths[0]].value = value
            for index in lengths.dropFirst() { fields[index].isDropped = true }
            let isLast = indices("connection").contains { Self.lists("close", fields[$0].value) }
            let staysOpen = indices("connection").contains { Self.lists("keep-alive", fields[$0].value) }
            if value.isEmpty, isLast || isOld && !staysOpen, !isEncoded { fields[lengths[0]].isDropped = true }
        }
        let locations = indices("location")
        for index in locations.dropFirst() where fields[index].value == fields[locations[0]].value {
            fields[index].isDropped = true
        }
        return fields
    }

    /// True if a comma-separated list contains the element, in any letter case.
    private static func lists(_ element: StaticString, _ value: [UInt8]) -> Bool {
        value.split(separator: 0x2C).contains { Self.equal(Array(Self.trimmed($0)), element) }
    }

    private static func equal(_ bytes: [UInt8], _ text: StaticString) -> Bool {
        bytes.withUnsafeBufferPointer { ByteClass.equal($0, text) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while bytes.first.map(Self.isBlank) == true { bytes.removeFirst() }
        while bytes.last.map(Self.isBlank) == true { bytes.removeLast() }
        return bytes
    }
}
