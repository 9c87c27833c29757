package import Vocabulary

extension ReplaceableRecord {
    /// Returns the bytes that a store keeps: the attempt that writes the record, and the record.
    package func encoded(attempt: AttemptID) throws(RecordTooLarge) -> [UInt8] {
        try self.encoded(after: { $0.write(attempt.value) }, limit: Self.sizeLimit)
    }
}

/// A stored replaceable record that is not decoded yet.
package struct ReplaceableEnvelope {
    /// The attempt that wrote the record.
    package let attempt: AttemptID
    private let content: CompactReader

    /// Reads the attempt from the output of `ReplaceableRecord.encoded(attempt:)`.
    package init(_ bytes: [UInt8]) throws(CompactFormatError) {
        var reader = CompactReader(bytes)
        self.attempt = AttemptID(value: try reader.text())
        self.content = reader
    }

    /// Decodes the record.
    package func record<Record: ReplaceableRecord>(as kind: Record.Type) throws(CompactFormatError) -> Record {
        var reader = self.content
        let record = try Record.read(from: &reader)
        try reader.finish()
        return record
    }
}
