import NIOCore
import RequestPath

/// The chunked coding: the same content however the bytes are cut, and not a byte beyond its end.
enum BodyFuzzing {
    private struct Reading: Equatable {
        var content: [UInt8] = []
        var outcome = BodyRelay.Outcome.more
        var consumed = 0
    }

    private static func read(_ bytes: [UInt8], step: Int) -> Reading {
        var reading = Reading()
        var relay = BodyRelay(.chunked)
        var input = ByteBuffer()
        var start = 0
        while start < bytes.count, reading.outcome == .more {
            let end = min(bytes.count, start + step)
            input.writeBytes(bytes[start..<end])
            start = end
            reading.outcome = relay.collect(&input, into: &reading.content)
        }
        reading.consumed = start - input.readableBytes
        return reading
    }

    static func chunked(_ bytes: [UInt8]) -> String? {
        let whole = self.read(bytes, step: max(1, bytes.count))
        for step in [1, 3] {
            let cut = self.read(bytes, step: step)
            if cut.outcome != whole.outcome { return "pieces of \(step) end otherwise" }
            if cut.outcome != .malformed, cut.content != whole.content { return "pieces of \(step) have other content" }
            if cut.outcome == .end, cut.consumed != whole.consumed { return "pieces of \(step) end elsewhere" }
        }
        guard whole.outcome == .end else { return nil }
        let shorter = self.read(Array(bytes[..<(whole.consumed - 1)]), step: max(1, bytes.count))
        return shorter.outcome == .more ? nil : "a part of the body ends"
    }
}
