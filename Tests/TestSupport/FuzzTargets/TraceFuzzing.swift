import NIOCore
import Observability
import RequestPath

/// What clients and collectors say of traces: a context that is taken is written alike, `tracestate` is whole or nothing, and
/// no text spoils a span.
enum TraceFuzzing {
    private static let parser = RequestParser(
        names: FieldNames(roles: FieldNames.requestRoles, managedNames: [], managedPrefixes: []),
        limits: HeadLimits(line: 1024, field: 2048, fields: 8192, fieldCount: 20),
        dropsUnderscore: true
    )

    private static let userAgent = SpanKey("user_agent.original")

    static func trace(_ bytes: [UInt8]) -> String? {
        self.context(bytes) ?? self.fields(bytes) ?? self.answer(bytes) ?? self.span(bytes)
    }

    private static func read(_ bytes: [UInt8]) -> TraceContext? {
        bytes.withExactCopy { TraceContext(UnsafeBufferPointer(start: $0, count: $1)) }
    }

    private static func context(_ bytes: [UInt8]) -> String? {
        guard let context = self.read(bytes) else { return nil }
        guard context.span != 0 else { return "a span without an id" }
        let flags = context.isSampled ? "01" : "00"
        let written = Array("00-\(context.trace)-\(TraceContext.text(context.span))-\(flags)".utf8)
        guard written[3..<52] == bytes[3..<52] else { return "other ids are written than were read" }
        guard let again = self.read(written), again.trace == context.trace, again.span == context.span else {
            return "what is written is not read"
        }
        guard self.read(written + [0x2D]) == nil else { return "version 00 has more" }
        return nil
    }

    /// The bytes as the values of both fields, and whatever else they then are.
    private static func fields(_ bytes: [UInt8]) -> String? {
        let parent = Array("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: ".utf8) + bytes
        let text = parent + Array("\r\ntracestate: ".utf8) + bytes
        let head = RequestHead(fieldCount: 20)
        return (text + Array("\r\n\r\n".utf8)).withExactCopy { base, count in
            guard self.parser.parse(base, count, into: head) == .complete else { return nil }
            let lines = (0..<head.fields.count).map { head.fields[$0] }
            let parents = lines.filter { $0.role == .traceParent }
            if TraceFields.context(of: head, base) != nil, parents.count != 1 { return "one of two parents is chosen" }
            var state: [UInt8] = [0x78]
            TraceFields.readState(of: head, base, into: &state)
            let values = lines.filter { $0.role == .traceState && !$0.isDropped && !$0.value.isEmpty }
                .map { Array($0.value.bytes(in: base)) }
            let joined = Array(values.joined(separator: [0x2C]))
            guard state.isEmpty || state == joined else { return "tracestate is cut" }
            return state.count > 512 ? "tracestate is too long" : nil
        }
    }

    private static func answer(_ bytes: [UInt8]) -> String? {
        let isGood = ExportRequest.Form.allCases.allSatisfy { PartialSuccess(bytes, $0).rejected >= 0 }
        return isGood ? nil : "fewer spans than none are refused"
    }

    /// The bytes as the name of a span, its state and an attribute of it.
    private static func span(_ bytes: [UInt8]) -> String? {
        guard let trace = TraceID(high: 1, low: 2) else { return nil }
        let buffer = SpanBuffer(capacity: 1)
        for number in 1...2 {
            buffer.begin(SpanHead(trace: trace, span: UInt64(number), kind: .client, start: 1, end: 2))
            bytes.withUnsafeBytes { bytes in
                buffer.name(bytes)
                buffer.state(bytes)
                buffer.attribute("sallyport.request_id", bytes)
                buffer.attribute(Self.userAgent, bytes)
            }
            buffer.end()
        }
        let body = ExportRequest(attributes: [], version: "1", form: .json).body([buffer])
        let count = String(buffer: body).split(separator: "\"spanId\":").count - 1
        return count == 2 ? nil : "\(count) of two spans are read"
    }
}
