import CNGHTTP2

/// A frame that the gateway has sent.
struct ServerFrame: CustomStringConvertible {
    var kind: UInt8
    var flags: UInt8
    var stream: UInt32
    var payload: [UInt8]
    /// Of HEADERS: what the block says.
    var fields: [(name: String, value: String)] = []

    var endsStream: Bool { self.kind <= 1 && self.flags & 1 != 0 }
    /// Of RST_STREAM and GOAWAY: the error code.
    var code: UInt32? {
        switch self.kind {
        case 3: Self.number(self.payload[0..<4])
        case 7: Self.number(self.payload[4..<8])
        default: nil
        }
    }
    /// Of WINDOW_UPDATE: the increment; of GOAWAY: the last stream.
    var number: UInt32 { Self.number(self.payload[0..<4]) }

    var description: String { "\(self.kind) on \(self.stream), \(self.flags): \(self.fields) \(self.payload.count)" }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}

/// Reads what a gateway sends on one connection.
final class ServerFrames {
    private let inflater: OpaquePointer

    init() throws {
        var made: OpaquePointer?
        nghttp2_hd_inflate_new(&made)
        guard let made else { throw CancellationError() }
        self.inflater = made
    }

    deinit {
        nghttp2_hd_inflate_del(self.inflater)
    }

    /// The frames in `bytes`, which end with one.
    func read(_ bytes: [UInt8]) -> [ServerFrame] {
        var frames: [ServerFrame] = []
        var rest = bytes[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            var frame = ServerFrame(
                kind: head[3],
                flags: head[4],
                stream: head[5...].reduce(0) { $0 << 8 | UInt32($1) },
                payload: Array(rest.dropFirst(9).prefix(length))
            )
            if frame.kind == 1 { frame.fields = self.fields(frame.payload) }
            frames.append(frame)
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }

    private func fields(_ block: [UInt8]) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        block.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            var offset = 0
            while true {
                var field = nghttp2_nv()
                var flags: Int32 = 0
                let count = nghttp2_hd_inflate_hd2(
                    self.inflater,
                    &field,
                    &flags,
                    start + offset,
                    bytes.count - offset,
                    1
                )
                guard count >= 0 else { return }
                offset += count
                if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    fields.append((Self.text(field.name, field.namelen), Self.text(field.value, field.valuelen)))
                }
                if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
            }
            nghttp2_hd_inflate_end_headers(self.inflater)
        }
        return fields
    }

    private static func text(_ start: UnsafeMutablePointer<UInt8>?, _ count: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
