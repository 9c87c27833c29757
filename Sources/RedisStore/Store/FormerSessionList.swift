import Sessions
import Vocabulary

/// A subject's list of sessions in the format that gateways used before lists had lines (`RedisStore+Index.swift`).
/// These records are no longer written, but are read until the last of their sessions has expired.
struct FormerSessionList: ReplaceableRecord, Hashable {
    /// A session and its expiry.
    struct Entry: Hashable {
        let key: RecordKey
        let expiresAt: UnixTime
    }

    let sessions: [Entry]
    let since: UnixTime

    static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "u")) }
    static var longestLife: Duration { RedisStore.longestLife }
    static var isConfirmed: Bool { false }
    var terms: RecordTerms {
        RecordTerms(since: self.since, expiresAt: self.sessions.map(\.expiresAt).max() ?? self.since)
    }

    func write(to writer: inout CompactWriter) {
        writer.write(self.since)
        writer.write(list: self.sessions) { writer, session in
            writer.write(session.key)
            writer.write(session.expiresAt)
        }
    }

    static func read(from reader: inout CompactReader) throws(CompactFormatError) -> FormerSessionList {
        let since = try reader.time()
        let sessions = try reader.list { (reader) throws(CompactFormatError) in
            Entry(key: try reader.key(), expiresAt: try reader.time())
        }
        return FormerSessionList(sessions: sessions, since: since)
    }
}

extension TokenAuthority {
    /// Returns the keys of the subject's lists in the former format.
    func formerSessionLists(of subject: String) -> [RecordKey] {
        self.namedKeys("subject sessions", subject, FormerSessionList.kind)
    }
}
