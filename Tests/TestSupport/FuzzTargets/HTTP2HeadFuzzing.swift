import NIOCore
import RequestPath

/// Fields of HTTP/2, in any order and with any bytes: what is written of them is one head, or none.
enum HTTP2HeadFuzzing {
    private static let limits = HeadLimits(line: 1024, field: 2048, fields: 4096, fieldCount: 20)
    private static let parser = RequestParser(
        names: FieldNames(roles: FieldNames.requestRoles, managedNames: ["remote-user"], managedPrefixes: ["x-auth-"]),
        limits: limits,
        dropsUnderscore: true
    )

    /// The first byte says whether the connection has TLS (1) and whether the request ends with its head (2). Each field is
    /// the lengths of its name and its value, a byte each, and both.
    static func head(_ bytes: [UInt8]) -> String? {
        guard let flags = bytes.first else { return nil }
        var writer = HTTP2RequestHead(limits: self.limits)
        // Whatever came before it must not matter.
        for _ in 0..<2 {
            writer.begin()
            self.append(bytes[1...], to: &writer)
        }
        var buffer = ByteBuffer()
        let outcome = writer.write(
            isSecure: flags & 1 != 0,
            endsStream: flags & 2 != 0,
            webSocketKey: Array("dGhlIHNhbXBsZSBub25jZQ==".utf8),
            into: &buffer
        )
        let written = Array(buffer.readableBytesView)
        guard outcome == .written else { return written.isEmpty ? nil : "a head was written and refused" }
        let head = RequestHead(fieldCount: self.limits.fieldCount)
        return switch written.withExactCopy({ self.parser.parse($0, $1, into: head) }) {
        case .complete where head.byteCount != written.count: "more than one head was written"
        case .complete where head.hasTransferEncoding: "it has a framing of HTTP/1"
        case .complete where head.isWebSocketUpgrade != writer.opensWebSocket: "it opens something else"
        case .complete, .refused: nil
        case .incomplete: "a part of a head was written"
        }
    }

    private static func append(_ bytes: ArraySlice<UInt8>, to writer: inout HTTP2RequestHead) {
        var rest = bytes
        while rest.count >= 2 {
            let (name, value) = (Int(rest.removeFirst()), Int(rest.removeFirst()))
            let taken = rest.prefix(name)
            let content = rest.dropFirst(name).prefix(value)
            taken.withUnsafeBufferPointer { name in content.withUnsafeBufferPointer { writer.append(name, $0) } }
            rest = rest.dropFirst(name + value)
        }
    }
}
