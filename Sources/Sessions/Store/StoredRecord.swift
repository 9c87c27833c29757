package import Vocabulary

/// A record with a binary format.
///
/// Bytes of earlier versions of the gateway must stay readable. Equal records have equal bytes.
package protocol RecordCodable: Sendable {
    /// Writes every part of the record, in a fixed order.
    func write(to writer: inout CompactWriter)

    /// Reads the output of `write(to:)`.
    static func read(from reader: inout CompactReader) throws(CompactFormatError) -> Self
}

/// A record other than a session. The store knows only the record's bytes and its `terms`.
package protocol StoredRecord: RecordCodable {
    /// The kind of the records, which is part of their keys.
    static var kind: RecordKind { get }
    /// The maximum lifetime of a record in the store.
    static var longestLife: Duration { get }
    /// The maximum size of a record in bytes. Writing a larger record fails with `RecordTooLarge`.
    static var sizeLimit: Int { get }
    /// The lifetime of the record, and the ends that it follows.
    var terms: RecordTerms { get }
}

extension StoredRecord {
    package static var sizeLimit: Int { 65_536 }
}

/// The lifetime of a record, and what it ends with besides its lineage.
package struct RecordTerms: Sendable, Hashable {
    /// The time when the lifetime began. A replacement keeps the time of the first record.
    package var since: UnixTime
    package var expiresAt: UnixTime
    /// The record ends with the sessions of this subject and epoch; `nil` if it has no subject.
    package var owner: RecordOwner?
    /// The session that must exist when the record is used to create something.
    package var parent: RecordKey?

    package init(since: UnixTime, expiresAt: UnixTime, owner: RecordOwner? = nil, parent: RecordKey? = nil) {
        self.since = since
        self.expiresAt = expiresAt
        self.owner = owner
        self.parent = parent
    }
}

/// A subject and its epoch. Ending the subject's sessions raises the epoch.
package struct RecordOwner: Sendable, Hashable {
    package var subject: String
    package var epoch: UInt64

    package init(subject: String, epoch: UInt64) {
        self.subject = subject
        self.epoch = epoch
    }
}

/// The error for a record that is larger than its kind allows. Nothing was written.
package struct RecordTooLarge: Error, Sendable, Hashable, CustomStringConvertible {
    /// The size of the record in bytes.
    package let size: Int
    /// The maximum size of a record of this kind in bytes.
    package let limit: Int

    package var description: String { "the record has \(self.size) bytes, more than the \(self.limit) of its kind" }
}

extension RecordCodable {
    /// Returns `header` and the record's bytes.
    func encoded(after header: (inout CompactWriter) -> Void, limit: Int) throws(RecordTooLarge) -> [UInt8] {
        var writer = CompactWriter()
        header(&writer)
        let start = writer.bytes.count
        self.write(to: &writer)
        let size = writer.bytes.count - start
        guard size <= limit else { throw RecordTooLarge(size: size, limit: limit) }
        return writer.bytes
    }
}

extension StoredRecord {
    /// Returns the bytes that a store keeps.
    package func encoded() throws(RecordTooLarge) -> [UInt8] {
        try self.encoded(after: { _ in }, limit: Self.sizeLimit)
    }

    /// Reads the output of `encoded()`. Further bytes are an error.
    package static func decoded(_ bytes: [UInt8]) throws(CompactFormatError) -> Self {
        var reader = CompactReader(bytes)
        let record = try Self.read(from: &reader)
        try reader.finish()
        return record
    }

    /// Returns the time when the record ends if it is written at `now`.
    package func end(writtenAt now: UnixTime) -> UnixTime {
        min(self.terms.expiresAt, now.advanced(by: Self.longestLife))
    }
}
