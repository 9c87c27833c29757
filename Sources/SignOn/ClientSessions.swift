package import Sessions
package import Vocabulary

/// A user's session at a client, as identified in the client's id_tokens.
package struct ClientSession: Sendable, Hashable {
    package var clientID: String
    /// The name of the user's realm.
    package var realm: String
    /// `sub`.
    package var userID: String
    /// `sid`. `nil` for all sessions of the user at the client.
    package var sessionID: String?

    package init(clientID: String, realm: String, userID: String, sessionID: String?) {
        self.clientID = clientID
        self.realm = realm
        self.userID = userID
        self.sessionID = sessionID
    }
}

/// The client sessions of one lineage, so that the clients can be notified of ends (`ClientNotifier`). Contains only
/// clients with `backchannel_logout_uri`.
///
/// The record's key (`TokenAuthority.clientSessionKeys`) is not in the lineage, so the record survives the lineage's
/// end.
package struct ClientSessions: ReplaceableRecord, Hashable {
    /// A session that a client got with one code or id_token.
    package struct Entry: Sendable, Hashable {
        package var clientID: String
        /// `sid` of the client's id_tokens.
        package var sessionID: String
        /// The key of the user's session in which the client got its session. In a family, the key of the first
        /// session.
        package var root: RecordKey

        package init(clientID: String, sessionID: String, root: RecordKey) {
            self.clientID = clientID
            self.sessionID = sessionID
            self.root = root
        }
    }

    /// The maximum number of entries.
    static let capacity = 64
    /// How long a record without entries is kept. It is not ended, because an ended record cannot be written again
    /// soon.
    private static let emptyLife = Duration.seconds(60)

    package let since: UnixTime
    package private(set) var expiresAt: UnixTime
    /// The name of the user's realm, and the user's id in it.
    package let realm: String
    package let userID: String
    /// The entries, the newest last.
    package private(set) var entries: [Entry] = []

    /// Creates an empty record for the user of a session.
    package init(of session: Session, since: UnixTime) {
        self.init(since, session.expiresAt, session.identity.realm.name, session.identity.id)
    }

    private init(_ since: UnixTime, _ expiresAt: UnixTime, _ realm: String, _ userID: String) {
        self.since = since
        self.expiresAt = expiresAt
        self.realm = realm
        self.userID = userID
    }

    /// Adds an entry. If the record is full, the client with the most entries loses its oldest entry, so that no client
    /// displaces the entries of others.
    package mutating func add(_ entry: Entry, until expiresAt: UnixTime) {
        self.entries = self.entries.filter { $0 != entry } + [entry]
        self.expiresAt = max(self.expiresAt, expiresAt)
        guard self.entries.count > Self.capacity else { return }
        let counts = Dictionary(grouping: self.entries, by: \.clientID).mapValues(\.count)
        let most = counts.values.max()
        if let oldest = self.entries.firstIndex(where: { counts[$0.clientID] == most }) {
            self.entries.remove(at: oldest)
        }
    }

    /// Removes the entries that have ended, and returns them.
    mutating func remove(at now: UnixTime, where hasEnded: (Entry) -> Bool) -> [ClientSession] {
        let ended = self.entries.filter(hasEnded)
        self.entries.removeAll(where: hasEnded)
        if self.entries.isEmpty { self.expiresAt = min(self.expiresAt, now.advanced(by: Self.emptyLife)) }
        return ended.map {
            ClientSession(clientID: $0.clientID, realm: self.realm, userID: self.userID, sessionID: $0.sessionID)
        }
    }

    package static var kind: RecordKind { .providerSession }
    /// The maximum lifetime of a session.
    package static var longestLife: Duration { .seconds(400 * 86_400) }
    package var terms: RecordTerms { RecordTerms(since: self.since, expiresAt: self.expiresAt) }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.since)
        writer.write(self.expiresAt)
        writer.write(self.realm)
        writer.write(self.userID)
        writer.write(list: self.entries) { writer, entry in
            writer.write(entry.clientID)
            writer.write(entry.sessionID)
            writer.write(entry.root)
        }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ClientSessions {
        var record = ClientSessions(try reader.time(), try reader.time(), try reader.text(), try reader.text())
        record.entries = try reader.list { (reader) throws(CompactFormatError) in
            Entry(clientID: try reader.text(), sessionID: try reader.text(), root: try reader.key())
        }
        return record
    }
}
