package import Vocabulary

/// The bytes of one kind of record, written and read in one place.
///
/// Bytes written by an earlier version of the gateway must stay readable, and equal records have equal bytes.
package protocol RecordCodable: Sendable {
    /// Writes every part of the record, in a fixed order.
    func write(to writer: inout CompactWriter)

    /// Reads the output of `write(to:)`. Swift evaluates the arguments of a call in order, so fields may be read
    /// directly in the arguments of an initialiser.
    static func read(from reader: inout CompactReader) throws(CompactFormatError) -> Self
}

/// A record of the store that is not a session. The store keeps its bytes and knows only its `terms`.
///
/// The conforming type is the one place for everything particular to the kind: the letter of its keys, its bytes, how
/// long a record lives and how large it may be.
package protocol StoredRecord: RecordCodable {
    /// The kind in the keys of these records.
    static var kind: RecordKind { get }
    /// The longest life of a record of the kind, whatever its own terms say.
    static var longestLife: Duration { get }
    /// The maximum size of a record of the kind in bytes. Larger records fail with `RecordTooLarge`.
    static var sizeLimit: Int { get }
    /// The lifetime of the record, and what it ends with.
    var terms: RecordTerms { get }
}

extension StoredRecord {
    package static var sizeLimit: Int { 65_536 }
}

/// The facts that a store must know about a record. In addition, every record ends with its lineage.
package struct RecordTerms: Sendable, Hashable {
    /// The time when the lifetime began; a record that replaces another keeps this time.
    package var since: UnixTime
    package var expiresAt: UnixTime
    /// The record ends with the sessions of this subject and epoch; `nil` while no subject is known.
    package var owner: RecordOwner?
    /// The session that must still exist if the record is used to create something.
    package var parent: RecordKey?

    package init(since: UnixTime, expiresAt: UnixTime, owner: RecordOwner? = nil, parent: RecordKey? = nil) {
        self.since = since
        self.expiresAt = expiresAt
        self.owner = owner
        self.parent = parent
    }
}

/// A subject and one of its epochs: ending the subject's sessions raises the epoch.
package struct RecordOwner: Sendable, Hashable {
    package var subject: String
    package var epoch: UInt64

    package init(subject: String, epoch: UInt64) {
        self.subject = subject
        self.epoch = epoch
    }
}

/// The error for a record that is too large for its kind. Nothing was written. It is an error of the caller.
package struct RecordTooLarge: Error, Sendable, Hashable, CustomStringConvertible {
    /// The size of the record in bytes.
    package let size: Int
    /// The maximum size of a record of its kind in bytes.
    package let limit: Int

    package var description: String { "the record has \(self.size) bytes, more than the \(self.limit) of its kind" }
}

extension RecordCodable {
    /// Returns the record's bytes, preceded by `header`.
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
    /// Returns the record's bytes as a store keeps them.
    package func encoded() throws(RecordTooLarge) -> [UInt8] {
        try self.encoded(after: { _ in }, limit: Self.sizeLimit)
    }

    /// Reads the output of `encoded()`; bytes after it are an error.
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
