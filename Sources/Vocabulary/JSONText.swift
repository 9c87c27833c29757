/// Writes and reads JSON (RFC 8259). The reader rejects repeated member names (RFC 6749 3.1, RFC 7515 4). Foundation's
/// decoder would pick one of the values.
package enum JSONText {
    /// Returns the document in UTF-8. Members are sorted by name: equal values have equal bytes.
    package static func encode(_ value: JSONValue) -> [UInt8] {
        var json = JSONWriter()
        json.write(value)
        return json.bytes
    }

    /// What to do with half a surrogate pair in a string, such as `"\ud83d"` (RFC 8259 8.2). Programs write it if they
    /// cut texts between UTF-16 units. Member names with it are always rejected.
    package enum LoneSurrogates: Sendable {
        case refused
        /// The half is replaced by U+FFFD. Different texts may become equal, so the result identifies no user.
        case replaced
    }

    /// Returns the value of a document; `nil` if it is rejected for a reason in `JSONFault`, e.g. for a value more than
    /// `maxDepth` levels below the outermost one.
    package static func decode(
        _ bytes: [UInt8],
        maxDepth: Int = 32,
        loneSurrogates: LoneSurrogates = .refused
    ) -> JSONValue? {
        try? self.read(bytes, maxDepth: maxDepth, loneSurrogates: loneSurrogates).get()
    }

    /// Returns the members of a document whose value is an object.
    ///
    /// - Throws: Why the bytes are rejected, e.g. `noObject` if the value is not an object.
    package static func object(
        _ bytes: [UInt8],
        maxDepth: Int = 32,
        loneSurrogates: LoneSurrogates = .refused
    ) throws(JSONFault) -> [String: JSONValue] {
        let value = try self.read(bytes, maxDepth: maxDepth, loneSurrogates: loneSurrogates).get()
        guard let members = value.members else { throw .noObject }
        return members
    }

    /// Returns the value of a document, or why it is rejected.
    package static func read(
        _ bytes: [UInt8],
        maxDepth: Int = 32,
        loneSurrogates: LoneSurrogates = .refused
    ) -> Result<JSONValue, JSONFault> {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes, maxDepth: maxDepth, loneSurrogates)
            return reader.document().map { .success($0) } ?? .failure(reader.fault)
        }
    }
}

/// A recursive-descent parser with limited depth for one document. The caller limits the length and owns the bytes.
private struct JSONReader {
    /// The initial capacity of the outermost object. It suffices for most headers and claims.
    private static let usualMembers = 12

    private let maxDepth: Int
    private let loneSurrogates: JSONText.LoneSurrogates
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// The first violation of a rule; `nil` if only the grammar is violated.
    private var brokenRule: JSONFault?

    init(_ bytes: UnsafeBufferPointer<UInt8>, maxDepth: Int, _ loneSurrogates: JSONText.LoneSurrogates) {
        self.bytes = bytes
        self.maxDepth = maxDepth
        self.loneSurrogates = loneSurrogates
    }

    mutating func document() -> JSONValue? {
        guard let value = self.value(depth: 0) else { return nil }
        self.skipBlanks()
        return self.position == self.bytes.count ? value : self.breaks(.rest)
    }

    /// The reason why `document` returned `nil`.
    var fault: JSONFault {
        if let brokenRule { return brokenRule }
        let isBlank = self.bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        if isBlank { return .empty }
        if self.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return .byteOrderMark }
        // JSON begins with an ASCII character, which has a zero byte among its first two in UTF-16 and UTF-32.
        if String(validating: self.bytes, as: UTF8.self) == nil || self.bytes.prefix(2).contains(0) { return .encoding }
        return self.bytes.contains(0) ? .null : .syntax
    }

    /// Records the first violation, and returns `nil`.
    private mutating func breaks<Value>(_ rule: JSONFault) -> Value? {
        if self.brokenRule == nil { self.brokenRule = rule }
        return nil
    }

    private var next: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func skipBlanks() {
        while let byte = self.next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { self.position += 1 }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        self.skipBlanks()
        guard self.next == byte else { return false }
        self.position += 1
        return true
    }

    private mutating func value(depth: Int) -> JSONValue? {
        self.skipBlanks()
        guard let byte = self.next else { return nil }
        guard depth <= self.maxDepth else { return self.breaks(.depth) }
        switch byte {
        case UInt8(ascii: "{"): return self.object(depth: depth)
        case UInt8(ascii: "["): return self.array(depth: depth)
        case UInt8(ascii: "\""): return self.text(self.loneSurrogates).map(JSONValue.string)
        case UInt8(ascii: "t"): return self.literal("true", .bool(true))
        case UInt8(ascii: "f"): return self.literal("false", .bool(false))
        case UInt8(ascii: "n"): return self.literal("null", .null)
        default: return self.number()
        }
    }

    private mutating func literal(_ name: String, _ value: JSONValue) -> JSONValue? {
        guard self.bytes[self.position...].starts(with: name.utf8) else { return nil }
        self.position += name.utf8.count
        return value
    }

    private mutating func object(depth: Int) -> JSONValue? {
        var members: [String: JSONValue] = [:]
        self.position += 1
        if self.skip(UInt8(ascii: "}")) { return .object(members) }
        // Inner objects reserve no capacity, because a document may contain thousands of them.
        if depth == 0 { members.reserveCapacity(Self.usualMembers) }
        repeat {
            self.skipBlanks()
            guard self.next == UInt8(ascii: "\""), let name = self.text(.refused), self.skip(UInt8(ascii: ":")),
                let value = self.value(depth: depth + 1)
            else { return nil }
            guard members.updateValue(value, forKey: name) == nil else { return self.breaks(.repeated) }
        } while self.skip(UInt8(ascii: ","))
        return self.skip(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> JSONValue? {
        var elements: [JSONValue] = []
        self.position += 1
        if self.skip(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            guard let element = self.value(depth: depth + 1) else { return nil }
            elements.append(element)
        } while self.skip(UInt8(ascii: ","))
        return self.skip(UInt8(ascii: "]")) ? .array(elements) : nil
    }

    private mutating func number() -> JSONValue? {
        let start = self.position
        if self.next == UInt8(ascii: "-") { self.position += 1 }
        // RFC 8259 6: "Leading zeros are not allowed."
        if self.next == UInt8(ascii: "0") {
            self.position += 1
        } else {
            guard self.digits() else { return nil }
        }
        var isInteger = true
        if self.next == UInt8(ascii: ".") {
            isInteger = false
            self.position += 1
            guard self.digits() else { return nil }
        }
        if self.next == UInt8(ascii: "e") || self.next == UInt8(ascii: "E") {
            isInteger = false
            self.position += 1
            if self.next == UInt8(ascii: "+") || self.next == UInt8(ascii: "-") { self.position += 1 }
            guard self.digits() else { return nil }
        }
        let digits = self.bytes[start..<self.position]
        if isInteger, let integer = Self.integer(digits) { return .integer(integer) }
        guard let number = Double(String(decoding: digits, as: UTF8.self)), number.isFinite else {
            return self.breaks(.number)
        }
        return .number(number)
    }

    /// Reads digits after an optional minus; `nil` if the number does not fit into `Int64`.
    private static func integer(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for digit in isNegative ? text.dropFirst() : text {
            let (product, exceeds) = value.multipliedReportingOverflow(by: 10)
            // The value is built as a negative number, because `Int64.min` has no positive counterpart.
            let (sum, exceedsToo) = product.subtractingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
            guard !exceeds, !exceedsToo else { return nil }
            value = sum
        }
        guard !isNegative else { return value }
        return value == .min ? nil : -value
    }

    private mutating func digits() -> Bool {
        let start = self.position
        while let byte = self.next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.position += 1 }
        return self.position > start
    }

    private mutating func text(_ loneSurrogates: JSONText.LoneSurrogates) -> String? {
        var content: [UInt8] = []
        self.position += 1
        while true {
            // Most strings have no escapes, so that the first run is the whole text.
            let (run, isASCII) = self.plainRun()
            guard let byte = self.next else { return nil }
            self.position += 1
            switch byte {
            case UInt8(ascii: "\""):
                let text =
                    if !content.isEmpty {
                        String(utf8: (content + run)[...])
                    } else {
                        isASCII ? String(decoding: run, as: UTF8.self) : String(validating: run, as: UTF8.self)
                    }
                return text ?? self.breaks(.encoding)
            case UInt8(ascii: "\\"):
                guard let scalar = self.escape(loneSurrogates) else { return nil }
                content += run
                content += String(scalar).utf8
            default:
                // A control character (RFC 8259 7).
                return nil
            }
        }
    }

    /// Consumes and returns the bytes up to the next quote, backslash or control character.
    private mutating func plainRun() -> (UnsafeBufferPointer<UInt8>, isASCII: Bool) {
        var (end, seen) = (self.position, UInt8(0))
        while end < self.bytes.count {
            let byte = self.bytes[end]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            seen |= byte
            end &+= 1
        }
        defer { self.position = end }
        return (UnsafeBufferPointer(rebasing: self.bytes[self.position..<end]), seen < 0x80)
    }

    private mutating func escape(_ loneSurrogates: JSONText.LoneSurrogates) -> Unicode.Scalar? {
        guard let byte = self.next else { return nil }
        self.position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let unit = self.codeUnit() else { return nil }
            if let scalar = Unicode.Scalar(unit) { return scalar }
            if let low = self.lowSurrogate(after: unit) {
                return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            }
            return loneSurrogates == .replaced ? "\u{FFFD}" : self.breaks(.surrogate)
        default: return nil
        }
    }

    /// Reads the second half of a surrogate pair. Returns `nil` and reads nothing if no second half follows.
    private mutating func lowSurrogate(after high: UInt32) -> UInt32? {
        let start = self.position
        if high < 0xDC00, self.literal(#"\u"#, .null) != nil, let low = self.codeUnit(), (0xDC00...0xDFFF).contains(low)
        {
            return low
        }
        self.position = start
        return nil
    }

    private mutating func codeUnit() -> UInt32? {
        guard self.position + 4 <= self.bytes.count else { return nil }
        var unit: UInt32 = 0
        for byte in self.bytes[self.position..<self.position + 4] {
            guard let digit = Hexadecimal.value(byte) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        self.position += 4
        return unit
    }
}
