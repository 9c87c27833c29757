import NIOCore

/// The result of reading an HTTP/2 request for the judge.
package enum HTTP2Reading: Sendable {
    /// The HTTP/1 head with which the request is judged.
    case read([UInt8])
    /// The request is refused before it is judged.
    case refused(Explanation)
}

extension Explanation {
    /// Reads the fields of an HTTP/2 request as its connection would.
    ///
    /// - Parameter isSecure: True if the connection uses TLS.
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
            // A real request gets a random key.
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
