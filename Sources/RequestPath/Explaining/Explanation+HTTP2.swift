import NIOCore

/// A request of HTTP/2 on its way to the judge.
package enum HTTP2Reading: Sendable {
    /// It is judged by this head of HTTP/1.
    case read([UInt8])
    /// It ends here.
    case refused(Explanation)
}

extension Explanation {
    /// Reads the fields of a request of HTTP/2 as its connection does.
    ///
    /// - Parameter isSecure: Whether the connection has TLS.
    package static func read(
        _ fields: [(name: [UInt8], value: [UInt8])],
        isSecure: Bool,
        by configuration: PathConfiguration
    ) -> HTTP2Reading {
        var head = HTTP2RequestHead(limits: configuration.requestParser.limits)
        var hasBody = false
        for (name, value) in fields {
            if name.elementsEqual("content-length".utf8) { hasBody = !value.elementsEqual("0".utf8) }
            name.withUnsafeBufferPointer { name in value.withUnsafeBufferPointer { head.append(name, $0) } }
        }
        var buffer = ByteBuffer()
        let outcome = head.write(
            isSecure: isSecure,
            endsStream: !hasBody && !head.opensWebSocket,
            // Each request has another one.
            webSocketKey: Array("AAAAAAAAAAAAAAAAAAAAAA==".utf8),
            into: &buffer
        )
        var explanation = Explanation()
        switch outcome {
        case .written: return .read(Array(buffer.readableBytesView))
        case .malformed: explanation.say("request", ["invalid HTTP/2 request: its stream is reset (PROTOCOL_ERROR)"])
        case .refused(let reason): explanation.explainUnread(reason)
        }
        return .refused(explanation)
    }
}
