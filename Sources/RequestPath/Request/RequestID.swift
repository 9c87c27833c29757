/// The id of a request: 32 hexadecimal digits, unique on its loop by `sequence` and everywhere by `seed`.
package struct RequestID: Sendable, Hashable {
    package var seed: UInt64
    package var sequence: UInt64
    /// The id that a trusted proxy sent, used instead of the gateway's own id. `nil` if no proxy sent one.
    package var given: [UInt8]?

    package init(seed: UInt64, sequence: UInt64, given: [UInt8]? = nil) {
        self.seed = seed
        self.sequence = sequence
        self.given = given
    }

    /// Whether a proxy's id is accepted: 1 to 64 letters, digits, hyphens and dots.
    static func isFit(_ bytes: some Collection<UInt8>) -> Bool {
        (1...64).contains(bytes.count)
            && bytes.allSatisfy { $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || $0 == 0x2E }
    }

    @inline(__always)
    package func write(to writer: inout ByteWriter) {
        if let given = self.given {
            writer.write(given)
        } else {
            writer.writeHexadecimal(self.seed)
            writer.writeHexadecimal(self.sequence)
        }
    }

    /// Calls `body` with the characters of the id without creating a `String`.
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let given = self.given { return given.withUnsafeBytes(body) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { bytes in
            guard let base = bytes.baseAddress else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
            var writer = ByteWriter(base)
            self.write(to: &writer)
            return body(UnsafeRawBufferPointer(start: base, count: writer.count))
        }
    }

    package var text: String { self.withBytes { String(decoding: $0, as: UTF8.self) } }
}
