package import NIOCore
import Vocabulary

/// The request to a collector: OTLP's `ExportTraceServiceRequest` with one resource and one scope.
package struct ExportRequest: Sendable {
    /// The encoding of the request.
    package enum Form: String, Sendable, CaseIterable {
        case protobuf = "http/protobuf"
        /// JSON, readable by people. Three to four times as large as protobuf.
        case json = "http/json"

        package var contentType: String {
            switch self {
            case .protobuf: "application/x-protobuf"
            case .json: "application/json"
            }
        }
    }

    /// The encoded field `resource` of `ResourceSpans`.
    private let resource: [UInt8]
    /// The encoded field `scope` of `ScopeSpans`.
    private let scope: [UInt8]
    private let attributes: [(name: String, value: String)]
    private let version: String
    package let form: Form

    /// - Parameters:
    ///   - attributes: The resource attributes, which identify the sender.
    ///   - version: The version of the gateway.
    package init(attributes: [(name: String, value: String)], version: String, form: Form) {
        self.attributes = attributes
        self.version = version
        self.form = form
        self.resource = Self.field(
            1,
            attributes.flatMap { name, value in
                Self.field(1, Self.field(1, Array(name.utf8)) + Self.field(2, Self.field(1, Array(value.utf8))))
            }
        )
        self.scope = Self.field(1, Self.field(1, Array("sallyport".utf8)) + Self.field(2, Array(version.utf8)))
    }

    /// The number of bytes to copy at once. The C library copies up to this many bytes with vector instructions. For
    /// longer copies it uses an instruction that is slow on some processors.
    private static let piece = 2048

    /// Returns the request's body.
    package func body(_ buffers: [SpanBuffer]) -> ByteBuffer {
        switch self.form {
        case .protobuf:
            // The total size is computed first, so that each span is copied only once.
            var spans = 0
            for buffer in buffers { spans += buffer.bytes.count }
            let scopeSpans = Self.head(2, of: self.scope.count + spans) + self.scope
            let head = Self.head(1, of: self.resource.count + scopeSpans.count + spans) + self.resource + scopeSpans
            var body = ByteBufferAllocator().buffer(capacity: head.count + spans)
            body.writeBytes(head)
            body.writeWithUnsafeMutableBytes(minimumWritableBytes: spans) { room in
                var written = 0
                for buffer in buffers { written += Self.copy(buffer.bytes, to: room, at: written) }
                return written
            }
            return body
        case .json:
            return ByteBuffer(bytes: self.json(buffers))
        }
    }

    /// - Returns: The number of bytes copied.
    private static func copy(
        _ bytes: UnsafeRawBufferPointer,
        to room: UnsafeMutableRawBufferPointer,
        at offset: Int
    ) -> Int {
        for start in stride(from: 0, to: bytes.count, by: Self.piece) {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + Self.piece, bytes.count)])
            UnsafeMutableRawBufferPointer(rebasing: room[(offset + start)...]).copyMemory(from: piece)
        }
        return bytes.count
    }

    /// Returns a length-delimited protobuf field.
    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        self.head(number, of: content.count) + content
    }

    /// Returns the tag and length of a length-delimited field with `count` bytes.
    private static func head(_ number: UInt8, of count: Int) -> [UInt8] {
        var head = [number << 3 | 2]
        var rest = count
        while rest >= 0x80 {
            head.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        head.append(UInt8(truncatingIfNeeded: rest))
        return head
    }

    // MARK: JSON

    /// Returns the body as JSON: ids in hexadecimal, enums as numbers, 64-bit numbers as strings (OTLP 1.9, "JSON
    /// Protobuf Encoding").
    private func json(_ buffers: [SpanBuffer]) -> [UInt8] {
        let spans = buffers.flatMap { buffer -> [JSONValue] in
            var spans: [JSONValue] = []
            var reader = ProtobufReader(buffer.bytes)
            while let field = reader.next() {
                if case .bytes(let content) = field.value { spans.append(Self.span(content)) }
            }
            return spans
        }
        let attributes = self.attributes.map { name, value -> JSONValue in
            ["key": .string(name), "value": ["stringValue": .string(value)]]
        }
        return JSONText.encode([
            "resourceSpans": [
                [
                    "resource": ["attributes": .array(attributes)],
                    "scopeSpans": [
                        [
                            "scope": ["name": "sallyport", "version": .string(self.version)],
                            "spans": .array(spans),
                        ]
                    ],
                ]
            ]
        ])
    }

    private static func span(_ content: UnsafeRawBufferPointer) -> JSONValue {
        var span: [String: JSONValue] = [:]
        var (attributes, links): ([JSONValue], [JSONValue]) = ([], [])
        var reader = ProtobufReader(content)
        while let field = reader.next() {
            switch (field.number, field.value) {
            case (1, .bytes(let id)): span["traceId"] = Self.hexadecimal(id)
            case (2, .bytes(let id)): span["spanId"] = Self.hexadecimal(id)
            case (3, .bytes(let text)): span["traceState"] = Self.text(text)
            case (4, .bytes(let id)): span["parentSpanId"] = Self.hexadecimal(id)
            case (5, .bytes(let text)): span["name"] = Self.text(text)
            case (6, .number(let kind)): span["kind"] = .integer(Int64(truncatingIfNeeded: kind))
            case (7, .number(let time)): span["startTimeUnixNano"] = .string("\(time)")
            case (8, .number(let time)): span["endTimeUnixNano"] = .string("\(time)")
            case (9, .bytes(let attribute)): attributes.append(Self.attribute(attribute))
            case (13, .bytes(let link)): links.append(Self.link(link))
            case (15, .bytes): span["status"] = ["code": 2]
            case (16, .number(let flags)): span["flags"] = .integer(Int64(truncatingIfNeeded: flags))
            default: break
            }
        }
        span["attributes"] = .array(attributes)
        if !links.isEmpty { span["links"] = .array(links) }
        return .object(span)
    }

    private static func link(_ content: UnsafeRawBufferPointer) -> JSONValue {
        var link: [String: JSONValue] = [:]
        var reader = ProtobufReader(content)
        while let field = reader.next() {
            switch (field.number, field.value) {
            case (1, .bytes(let id)): link["traceId"] = Self.hexadecimal(id)
            case (2, .bytes(let id)): link["spanId"] = Self.hexadecimal(id)
            case (6, .number(let flags)): link["flags"] = .integer(Int64(truncatingIfNeeded: flags))
            default: break
            }
        }
        return .object(link)
    }

    private static func attribute(_ content: UnsafeRawBufferPointer) -> JSONValue {
        var attribute: [String: JSONValue] = [:]
        var reader = ProtobufReader(content)
        while let field = reader.next() {
            switch (field.number, field.value) {
            case (1, .bytes(let name)): attribute["key"] = Self.text(name)
            case (2, .bytes(let value)):
                var value = ProtobufReader(value)
                switch value.next()?.value {
                case .bytes(let text): attribute["value"] = ["stringValue": Self.text(text)]
                case .number(let number): attribute["value"] = ["intValue": .string("\(number)")]
                case nil: break
                }
            default: break
            }
        }
        return .object(attribute)
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> JSONValue {
        .string(String(decoding: bytes, as: UTF8.self))
    }

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> JSONValue {
        var text: [UInt8] = []
        for byte in bytes { Hexadecimal.append(byte, to: &text) }
        return .string(String(decoding: text, as: UTF8.self))
    }
}

/// Reads the fields of a protobuf message. Supports the wire types of trace messages, and stops at any other.
struct ProtobufReader {
    enum Value {
        case number(UInt64)
        case bytes(UnsafeRawBufferPointer)
    }

    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        self.rest = bytes
    }

    mutating func next() -> (number: UInt64, value: Value)? {
        guard let key = self.number() else { return nil }
        switch key & 7 {
        case 0: return self.number().map { (key >> 3, .number($0)) }
        case 1: return self.fixed(8).map { (key >> 3, .number($0)) }
        case 5: return self.fixed(4).map { (key >> 3, .number($0)) }
        case 2:
            guard let length = self.number(), length <= UInt64(self.rest.count) else { return nil }
            let content = UnsafeRawBufferPointer(rebasing: self.rest.prefix(Int(length)))
            self.skip(Int(length))
            return (key >> 3, .bytes(content))
        default: return nil
        }
    }

    private mutating func number() -> UInt64? {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while let byte = self.rest.first, shift < 64 {
            self.skip(1)
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        return nil
    }

    private mutating func fixed(_ count: Int) -> UInt64? {
        guard self.rest.count >= count else { return nil }
        let number = self.rest.prefix(count).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.skip(count)
        return number
    }

    private mutating func skip(_ count: Int) {
        self.rest = UnsafeRawBufferPointer(rebasing: self.rest.dropFirst(count))
    }
}

/// What a collector says about rejected spans (`ExportTraceServiceResponse`).
package struct PartialSuccess: Sendable, Equatable {
    /// The maximum length of the message in characters.
    private static let textLimit = 512

    /// The number of rejected spans.
    package var rejected = 0
    /// Why spans were rejected, or a warning; `nil` if the answer has no message.
    package var message: String?

    /// - Parameter body: The body of a 200 answer. An unreadable body is ignored.
    package init(_ body: [UInt8], _ form: ExportRequest.Form) {
        switch form {
        case .protobuf:
            body.withUnsafeBytes { bytes in
                var answer = ProtobufReader(bytes)
                while let field = answer.next() {
                    guard field.number == 1, case .bytes(let content) = field.value else { continue }
                    self.read(content)
                }
            }
        case .json:
            let part = JSONText.decode(body, maxDepth: 16)?["partialSuccess"]
            let count = part?["rejectedSpans"]
            // A 64-bit number should be a string, but some collectors send a number.
            self.rejected = max(0, count?.string.flatMap { Int($0) } ?? 0)
            if case .integer(let number)? = count { self.rejected = max(0, Int(clamping: number)) }
            self.take(part?["errorMessage"]?.string ?? "")
        }
    }

    private mutating func read(_ content: UnsafeRawBufferPointer) {
        var part = ProtobufReader(content)
        while let field = part.next() {
            switch (field.number, field.value) {
            case (1, .number(let count)): self.rejected = max(0, Int(clamping: Int64(bitPattern: count)))
            case (2, .bytes(let text)): self.take(String(decoding: text.prefix(4 * Self.textLimit), as: UTF8.self))
            default: break
            }
        }
    }

    private mutating func take(_ text: String) {
        if !text.isEmpty { self.message = String(text.prefix(Self.textLimit)) }
    }
}
