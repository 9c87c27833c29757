import GatewayBench
import TestSupport
import Testing

/// A client of HTTP/2 without TLS, frame by frame. Blocks of fields stay as they came.
final class HTTP2Wire {
    struct Frame {
        var kind: ClientFrames.Kind?
        var flags: UInt8
        var stream: UInt32
        var payload: [UInt8]

        var endsStream: Bool { (self.kind == .data || self.kind == .headers) && self.flags & 1 != 0 }
        /// Of HEADERS: `:status: 200`, which is the eighth field that both sides know (RFC 7541 Appendix A).
        var isOK: Bool { self.kind == .headers && self.payload.prefix(4).contains(0x88) }
        /// Of GOAWAY: the last stream that is served.
        var lastStream: UInt32 { self.payload.prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
        /// Of GOAWAY: why.
        var code: UInt32 { self.payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) } }
    }

    let wire: Wire

    /// - Parameter source: The local address to connect from.
    init(to gateway: Gateway, from source: String? = nil, _ settings: [(id: UInt16, value: UInt32)] = []) throws {
        self.wire = try Wire(to: gateway.port, from: source)
        self.send(.opening(settings).settingsAck())
    }

    func send(_ frames: ClientFrames) { self.wire.send(frames.bytes) }

    /// The next frame; nil: none comes.
    func next(seconds: Double = 10) -> Frame? {
        guard let head = self.wire.receive(count: 9, seconds: seconds) else { return nil }
        let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
        guard let payload = length == 0 ? [] : self.wire.receive(count: length, seconds: seconds) else { return nil }
        let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) }
        return Frame(kind: ClientFrames.Kind(rawValue: head[3]), flags: head[4], stream: stream, payload: payload)
    }

    /// The frames of a stream up to one that is looked for.
    func frames(of stream: UInt32, through isLast: (Frame) -> Bool) throws -> [Frame] {
        var frames: [Frame] = []
        while let frame = self.next() {
            if frame.kind == .goAway { throw BenchFailure("GOAWAY \(frame.code)") }
            guard frame.stream == stream else { continue }
            frames.append(frame)
            if isLast(frame) { return frames }
        }
        throw BenchFailure("stream \(stream) ends with \(frames)")
    }

    /// The frames of a stream up to its end.
    func answer(_ stream: UInt32) throws -> [Frame] {
        try self.frames(of: stream) { $0.endsStream || $0.kind == .reset }
    }
}
