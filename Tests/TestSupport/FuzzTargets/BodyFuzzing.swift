package import NIOCore
package import RequestPath

/// The chunked coding: the same content however the bytes are cut, and not a byte beyond its end.
enum BodyFuzzing {
    private struct Reading: Equatable {
        var content: [UInt8] = []
        var progress = BodyProgress.more
        var consumed = 0
    }

    private static func read(_ bytes: [UInt8], step: Int, lenient isLenient: Bool = false) -> Reading {
        var reading = Reading()
        var decoder = BodyDecoder(.chunked, ofAnswer: isLenient, lenient: isLenient)
        var input = ByteBuffer()
        var start = 0
        while start < bytes.count, reading.progress == .more {
            let end = min(bytes.count, start + step)
            input.writeBytes(bytes[start..<end])
            start = end
            reading.progress = decoder.collect(&input, into: &reading.content)
        }
        reading.consumed = start - input.readableBytes
        return reading
    }

    static func chunked(_ bytes: [UInt8]) -> String? {
        if let fault = self.chunked(bytes, lenient: false) ?? self.chunked(bytes, lenient: true) { return fault }
        // Whatever is read strictly, the reader of old servers reads in the same way.
        let (strict, lenient) = (self.read(bytes, step: 1), self.read(bytes, step: 1, lenient: true))
        return strict.progress != .end || strict == lenient ? nil : "an old server's chunks are read otherwise"
    }

    private static func chunked(_ bytes: [UInt8], lenient isLenient: Bool) -> String? {
        let whole = self.read(bytes, step: max(1, bytes.count), lenient: isLenient)
        for step in [1, 3] {
            let cut = self.read(bytes, step: step, lenient: isLenient)
            if cut.progress != whole.progress { return "pieces of \(step) end otherwise" }
            if cut.progress != .malformed, cut.content != whole.content {
                return "pieces of \(step) have other content"
            }
            if cut.progress == .end, cut.consumed != whole.consumed { return "pieces of \(step) end elsewhere" }
        }
        guard whole.progress == .end else { return nil }
        let shorter = self.read(
            Array(bytes[..<(whole.consumed - 1)]),
            step: max(1, bytes.count),
            lenient: isLenient
        )
        return shorter.progress == .more ? nil : "a part of the body ends"
    }
}

extension BodyDecoder {
    /// Appends the body's content to `collected`.
    package mutating func collect(_ buffer: inout ByteBuffer, into collected: inout [UInt8]) -> BodyProgress {
        self.decode(&buffer) { count, content in
            if let bytes = content.readBytes(length: count) { collected += bytes }
        }
    }
}
