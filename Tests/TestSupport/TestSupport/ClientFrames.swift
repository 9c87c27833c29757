/// Frames of HTTP/2 as a client writes them, right or wrong (RFC 9113 4.1). Fields are literals without indexing or
/// Huffman coding (RFC 7541 6.2.2), so that any bytes can be sent.
package struct ClientFrames: Sendable {
    package enum Kind: UInt8, Sendable {
        case data = 0
        case headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    package enum Flag {
        package static let endStream: UInt8 = 1
        package static let ack: UInt8 = 1
        package static let endHeaders: UInt8 = 4
        package static let padded: UInt8 = 8
        package static let priority: UInt8 = 0x20
    }

    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    package private(set) var bytes: [UInt8]

    package init(_ bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    /// The preface and settings with which a client begins.
    package static func opening(_ settings: [(id: UInt16, value: UInt32)] = []) -> ClientFrames {
        ClientFrames(self.preface).settings(settings)
    }

    // MARK: Frames

    /// - Parameter length: What the frame says of its length; nil: the truth.
    package func frame(
        _ kind: UInt8,
        flags: UInt8 = 0,
        stream: UInt32 = 0,
        length: Int? = nil,
        _ payload: [UInt8] = []
    ) -> ClientFrames {
        let length = length ?? payload.count
        let head = [length >> 16, length >> 8, length].map { UInt8(truncatingIfNeeded: $0) } + [kind, flags]
        return ClientFrames(self.bytes + head + Self.number(stream) + payload)
    }

    package func frame(_ kind: Kind, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> ClientFrames {
        self.frame(kind.rawValue, flags: flags, stream: stream, payload)
    }

    package func settings(_ entries: [(id: UInt16, value: UInt32)] = []) -> ClientFrames {
        self.frame(
            .settings,
            entries.flatMap {
                [UInt8(truncatingIfNeeded: $0.id >> 8), UInt8(truncatingIfNeeded: $0.id)] + Self.number($0.value)
            }
        )
    }

    package func settingsAck() -> ClientFrames { self.frame(.settings, flags: Flag.ack) }

    /// A request's fields in one frame.
    package func headers(_ stream: UInt32, _ fields: [(String, String)], endsStream: Bool = true) -> ClientFrames {
        let flags = Flag.endHeaders | (endsStream ? Flag.endStream : 0)
        return self.frame(.headers, flags: flags, stream: stream, Self.block(fields))
    }

    package func data(_ stream: UInt32, _ bytes: [UInt8], endsStream: Bool = false) -> ClientFrames {
        self.frame(.data, flags: endsStream ? Flag.endStream : 0, stream: stream, bytes)
    }

    package func reset(_ stream: UInt32, _ code: UInt32 = 8) -> ClientFrames {
        self.frame(.reset, stream: stream, Self.number(code))
    }

    package func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> ClientFrames {
        self.frame(.windowUpdate, stream: stream, Self.number(increment))
    }

    package func ping() -> ClientFrames { self.frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]) }

    package func goAway(_ code: UInt32 = 0) -> ClientFrames {
        self.frame(.goAway, Self.number(0) + Self.number(code))
    }

    // MARK: Their parts

    /// The pseudo-fields of a request to the hosts of most tests, and these fields.
    package static func request(
        _ method: String = "GET",
        scheme: String = "http",
        authority: String = "app.example.com",
        path: String = "/app/x",
        _ fields: [(String, String)] = []
    ) -> [(String, String)] {
        [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)] + fields
    }

    /// The same for GET.
    package static func request(_ fields: [(String, String)]) -> [(String, String)] { self.request("GET", fields) }

    /// A block of literal fields.
    package static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { [0] + self.text($0.0) + self.text($0.1) }
    }

    /// Each scalar is one byte.
    private static func text(_ text: String) -> [UInt8] {
        let bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var length = [UInt8(127)]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    /// A number of 32 bits.
    package static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
