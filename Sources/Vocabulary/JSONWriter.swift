/// Writes one JSON value (RFC 8259) piece by piece, without building a `JSONValue`.
///
/// ```
/// json.object { json in
///     json.name("id")
///     json.write("ses_1")
/// }
/// ```
package struct JSONWriter {
    /// The bytes written so far, in UTF-8.
    package private(set) var bytes: [UInt8] = []
    /// True while the current object or array is empty.
    private var isFirst = true
    /// True after a member's name, until its value is written.
    private var followsName = false

    package init() { self.bytes.reserveCapacity(1024) }

    /// Writes a member's name. The caller must write its value next. The name must not need escapes.
    package mutating func name(_ name: StaticString) {
        self.beginMember()
        self.bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { self.bytes.append(contentsOf: $0) }
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(UInt8(ascii: ":"))
    }

    /// Writes a member of an object. The name must not need escapes.
    package mutating func member(_ name: StaticString, _ text: String) {
        self.name(name)
        self.write(text)
    }

    /// Writes an object. `write` writes its members.
    package mutating func object<Failure>(
        _ write: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try self.nested(UInt8(ascii: "{"), UInt8(ascii: "}"), write)
    }

    /// Writes an array. `write` writes its elements.
    package mutating func array<Failure>(
        _ write: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        try self.nested(UInt8(ascii: "["), UInt8(ascii: "]"), write)
    }

    /// Writes a string.
    package mutating func write(_ text: String) {
        self.beginValue()
        var text = text
        text.withUTF8 { self.append($0) }
    }

    /// Writes `true` or `false`.
    package mutating func write(_ flag: Bool) {
        self.beginValue()
        self.bytes.append(utf8: flag ? "true" : "false")
    }

    /// Writes any value. Members are sorted by name: equal values have equal bytes.
    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: self.writeNull()
        case .bool(let flag): self.write(flag)
        case .integer(let number): self.write(number)
        case .number(let number): self.write(number)
        case .string(let text): self.write(text)
        case .array(let elements): self.array { json in for element in elements { json.write(element) } }
        case .object(let members):
            self.object { json in
                for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                    var name = name
                    name.withUTF8 { json.name($0) }
                    json.write(value)
                }
            }
        }
    }

    mutating func writeNull() {
        self.beginValue()
        self.bytes.append(utf8: "null")
    }

    mutating func write(_ number: Int64) {
        self.beginValue()
        self.bytes.append(utf8: String(number))
    }

    mutating func write(_ number: Double) {
        self.beginValue()
        // JSON has neither infinity nor NaN.
        self.bytes.append(utf8: number.isFinite ? String(number) : "null")
    }

    /// Writes a string that is given in UTF-8.
    mutating func write(_ text: UnsafeBufferPointer<UInt8>) {
        self.beginValue()
        self.append(text)
    }

    /// Writes a member's name, given in UTF-8. The caller must write its value next.
    mutating func name(_ name: UnsafeBufferPointer<UInt8>) {
        self.beginMember()
        self.append(name)
        self.bytes.append(UInt8(ascii: ":"))
    }

    // MARK: Steps

    private mutating func beginValue() {
        if !self.followsName && !self.isFirst { self.bytes.append(UInt8(ascii: ",")) }
        self.isFirst = false
        self.followsName = false
    }

    private mutating func beginMember() {
        self.beginValue()
        self.followsName = true
    }

    private mutating func nested<Failure>(
        _ begin: UInt8,
        _ end: UInt8,
        _ write: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.beginValue()
        self.bytes.append(begin)
        self.isFirst = true
        try write(&self)
        self.isFirst = false
        self.bytes.append(end)
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        self.bytes.append(UInt8(ascii: "\""))
        // Bytes between escapes are appended at once.
        var start = 0
        for index in text.indices {
            let byte = text[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            self.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<index]))
            start = index + 1
            self.appendEscape(of: byte)
        }
        self.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
        self.bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\n"): self.bytes.append(utf8: #"\n"#)
        case UInt8(ascii: "\r"): self.bytes.append(utf8: #"\r"#)
        case UInt8(ascii: "\t"): self.bytes.append(utf8: #"\t"#)
        case 0..<0x20:
            self.bytes.append(utf8: #"\u00"#)
            Hexadecimal.append(byte, to: &self.bytes)
        default:
            self.bytes.append(UInt8(ascii: "\\"))
            self.bytes.append(byte)
        }
    }
}
