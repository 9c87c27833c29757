/// A query as name and value pairs, for our own endpoints.
enum QueryText {
    /// `application/x-www-form-urlencoded` (WHATWG URL 5.1): split at `&`, the first `=` parts name and value, `+` is a space.
    static func parameters(_ query: UnsafeBufferPointer<UInt8>) -> [(name: String, value: String)] {
        query.split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.decoded(parts[0]), parts.count > 1 ? Self.decoded(parts[1]) : "")
        }
    }

    private static func decoded(_ bytes: Run) -> String {
        var result: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex, let high = Self.hex(bytes[index + 1]),
                let low = Self.hex(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private typealias Run = Swift.Slice<UnsafeBufferPointer<UInt8>>

    private static func hex(_ byte: UInt8) -> UInt8? {
        if byte &- 0x30 <= 9 { return byte &- 0x30 }
        let lower = (byte | 0x20) &- 0x61
        return lower < 6 ? lower + 10 : nil
    }
}
