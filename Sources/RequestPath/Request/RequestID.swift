/// The id of a request: 32 hexadecimal digits, unique in this process and, by its random half, everywhere.
package struct RequestID: Sendable, Hashable {
    package var seed: UInt64
    package var sequence: UInt64
    /// The id that a trusted proxy sent, which takes precedence.
    package var given: [UInt8]?

    package init(seed: UInt64, sequence: UInt64, given: [UInt8]? = nil) {
        self.seed = seed
        self.sequence = sequence
        self.given = given
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

    package var text: String {
        if let given = self.given { return String(decoding: given, as: UTF8.self) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { bytes in
            guard let base = bytes.baseAddress else { return "" }
            var writer = ByteWriter(base)
            self.write(to: &writer)
            return String(decoding: UnsafeBufferPointer(start: base, count: writer.count), as: UTF8.self)
        }
    }
}
