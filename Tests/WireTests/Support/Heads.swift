import RequestPath

/// The parsers in the gateway's configuration, with names for these tests.
enum Heads {
    static let requestNames = FieldNames(
        roles: FieldNames.requestRoles,
        managedNames: ["remote-user", "x-real-ip", "x-forwarded-proto", "x-forwarded-host"],
        managedPrefixes: ["x-auth-"]
    )
    static let responseNames = FieldNames(
        roles: FieldNames.responseRoles,
        managedNames: ["remote-user"],
        managedPrefixes: ["x-auth-"]
    )
    static let limits = HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100)
    static let request = RequestParser(names: requestNames, limits: limits, dropsUnderscore: true)
    static let response = ResponseParser(names: responseNames, limit: 65_536)

    /// Parses a request head and passes it to `body` with its bytes.
    static func parse<Value>(
        _ bytes: [UInt8],
        with parser: RequestParser = Self.request,
        _ body: (ParseResult, RequestHead, ParsedBytes) -> Value
    ) -> Value {
        let head = RequestHead(fieldCount: parser.limits.fieldCount)
        return Self.lend(bytes) { base, count in body(parser.parse(base, count, into: head), head, ParsedBytes(base)) }
    }

    /// Parses a request head and returns the result.
    static func result(_ text: String, with parser: RequestParser = Self.request) -> ParseResult {
        self.parse(Array(text.utf8), with: parser) { result, _, _ in result }
    }

    /// Parses a response head and passes it to `body` with its bytes.
    static func parseResponse<Value>(
        _ bytes: [UInt8],
        with parser: ResponseParser = Self.response,
        _ body: (ResponseParseResult, ResponseHead, ParsedBytes) -> Value
    ) -> Value {
        let head = ResponseHead(fieldCount: 128)
        return Self.lend(bytes) { base, count in body(parser.parse(base, count, into: head), head, ParsedBytes(base)) }
    }

    /// Passes a copy that has exactly the bytes of `bytes`, so that a sanitizer detects a read beyond the end.
    private static func lend<Value>(_ bytes: [UInt8], _ body: (Bytes, Int) -> Value) -> Value {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, bytes.count))
        defer { copy.deallocate() }
        bytes.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { copy.update(from: start, count: source.count) }
        }
        return body(UnsafePointer(copy), bytes.count)
    }
}

/// The buffer that slices refer to.
struct ParsedBytes {
    let base: Bytes

    init(_ base: Bytes) {
        self.base = base
    }

    func text(_ slice: Slice) -> String {
        String(decoding: slice.bytes(in: self.base), as: UTF8.self)
    }
}

/// A name and a value, comparable.
struct Field: Hashable, CustomStringConvertible {
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    var description: String { "\(self.name): \(self.value)" }
}

extension RequestHead {
    func fields(in bytes: ParsedBytes, where isIncluded: (FieldLine) -> Bool = { _ in true }) -> [Field] {
        (0..<self.fields.count).map { self.fields[$0] }.filter(isIncluded)
            .map { Field(bytes.text($0.name), bytes.text($0.value)) }
    }
}

extension ResponseHead {
    func fields(in bytes: ParsedBytes, where isIncluded: (FieldLine) -> Bool = { _ in true }) -> [Field] {
        (0..<self.fields.count).map { self.fields[$0] }.filter(isIncluded)
            .map { Field(bytes.text($0.name), bytes.text($0.value)) }
    }
}

/// A request head of `line`, `Host: a` and more field lines.
func head(_ line: String = "GET / HTTP/1.1", _ fields: String...) -> String {
    ([line, "Host: a"] + fields).map { $0 + "\r\n" }.joined() + "\r\n"
}
