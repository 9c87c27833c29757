package import Vocabulary

/// The keys of a subject's sessions, in a store that does not know them otherwise.
package struct SubjectSessions: ReplaceableRecord, Hashable {
    /// A session, and when it expires.
    package struct Entry: Sendable, Hashable {
        package let key: RecordKey
        package let expiresAt: UnixTime
    }

    /// How many are remembered: the latest.
    package static let capacity = 256

    package private(set) var entries: [Entry]
    package let since: UnixTime

    package init(since: UnixTime) {
        self.entries = []
        self.since = since
    }

    /// Adds a session that began at `now`, and forgets those that have expired.
    package mutating func add(_ key: RecordKey, until expiresAt: UnixTime, at now: UnixTime) {
        self.entries = self.entries.filter { $0.expiresAt > now && $0.key != key }
        self.entries.append(Entry(key: key, expiresAt: expiresAt))
        self.entries.removeFirst(max(0, self.entries.count - Self.capacity))
    }

    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "u")) }
    package static var longestLife: Duration { .seconds(400 * 86_400) }
    /// It may be stale in any case.
    package static var isConfirmed: Bool { false }
    package static var isBoundToReign: Bool { false }
    package var terms: RecordTerms {
        RecordTerms(since: self.since, expiresAt: self.entries.map(\.expiresAt).max() ?? self.since)
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.since)
        writer.write(list: self.entries) { writer, entry in
            writer.write(entry.key)
            writer.write(entry.expiresAt)
        }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> SubjectSessions {
        var record = SubjectSessions(since: try reader.time())
        record.entries = try reader.list { (reader) throws(CompactFormatError) in
            Entry(key: try reader.key(), expiresAt: try reader.time())
        }
        return record
    }
}
