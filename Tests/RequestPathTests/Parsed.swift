import RequestPath
import Testing

/// Calls a closure with the parsed head of a request with these fields.
func withHead<Value>(
    _ method: String = "GET",
    _ fields: [String] = [],
    target: String = "/x",
    _ body: (RequestHead, Bytes) throws -> Value
) throws -> Value {
    let parser = RequestParser(
        names: FieldNames(roles: FieldNames.requestRoles, managedNames: [], managedPrefixes: []),
        limits: HeadLimits(line: 8192, field: 16_384, fields: 65_536, fieldCount: 100),
        dropsUnderscore: true
    )
    let lines = ["\(method) \(target) HTTP/1.1", "Host: app.example.com"] + fields
    let head = RequestHead(fieldCount: 100)
    return try Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8).withUnsafeBufferPointer { bytes in
        let base = try #require(bytes.baseAddress)
        #expect(parser.parse(base, bytes.count, into: head) == .complete)
        return try body(head, base)
    }
}
