package import Vocabulary

extension ReplaceableRecord {
    /// Returns the record's bytes as a store keeps them, preceded by the attempt that writes it.
    package func encoded(attempt: AttemptID) throws(RecordTooLarge) -> [UInt8] {
        try self.encoded(after: { $0.write(attempt.value) }, limit: Self.sizeLimit)
    }
}

/// A replaceable record as a store keeps it.
package struct ReplaceableEnvelope {
    /// The attempt that wrote the record.
    package let attempt: AttemptID
    private let content: CompactReader

    /// Reads the output of `ReplaceableRecord.encoded(attempt:)`, up to the record itself.
    package init(_ bytes: [UInt8]) throws(CompactFormatError) {
        var reader = CompactReader(bytes)
        self.attempt = AttemptID(value: try reader.text())
        self.content = reader
    }

    /// Reads the record.
    package func record<Record: ReplaceableRecord>(as kind: Record.Type) throws(CompactFormatError) -> Record {
        var reader = self.content
        let record = try Record.read(from: &reader)
        try reader.finish()
        return record
    }
}
