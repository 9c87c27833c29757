import RequestPath

/// The header of the PROXY protocol: the same however the bytes are cut, and not a byte beyond its end.
enum PreambleFuzzing {
    private static func read(_ bytes: [UInt8]) -> ProxyPreamble.Reading {
        bytes.withExactCopy { ProxyPreamble.read(UnsafeRawBufferPointer(start: $0, count: $1)) }
    }

    static func preamble(_ bytes: [UInt8]) -> String? {
        // No header is longer.
        let bytes = Array(bytes.prefix(4300))
        let whole = self.read(bytes)
        if case .incomplete = whole, bytes.count >= 16 + 4096 { return "a header without end" }
        // Every cut of a short one, and some of a long one.
        let step = max(1, bytes.count / 256)
        var former = ProxyPreamble.Reading.incomplete
        for count in stride(from: 0, to: bytes.count, by: step) {
            let reading = self.read(Array(bytes[..<count]))
            if former != .incomplete, reading != former { return "\(count) bytes mean something else than fewer" }
            former = reading
        }
        if former != .incomplete, former != whole { return "all bytes mean something else than fewer" }
        guard case .complete(let preamble) = whole else { return nil }
        guard (1...bytes.count).contains(preamble.byteCount) else { return "it ends outside of the bytes" }
        if self.read(Array(bytes[..<preamble.byteCount])) != whole { return "bytes behind it change it" }
        if self.read(Array(bytes[..<(preamble.byteCount - 1)])) != .incomplete { return "a part of it is whole" }
        let isKnown = bytes.withExactCopy { ProxyPreamble.resembles(UnsafeRawBufferPointer(start: $0, count: $1)) }
        return isKnown ? nil : "it does not look like one"
    }
}
