package import Sessions
package import Vocabulary

/// The lineages that began with one session of a provider (`sid`), so that the provider can end them by its own id.
///
/// A provider may use a `sid` again, so each sign-in has a lineage of its own and is added here.
package struct ProviderSessionRecord: ReplaceableRecord, Hashable {
    /// The most lineages that are kept: more sign-ins with one session of a provider are not usual.
    static let lineageLimit = 64
    /// The most users whose sessions are counted when they end: a user has another name when accounts are linked, or when the
    /// address of the account changes.
    private static let subjectLimit = 8
    /// Stands between the names of users. No id has a control character.
    private static let separator: UInt8 = 1

    package var since: UnixTime
    /// When the last of the lineages expires.
    package var expiresAt: UnixTime
    /// The newest last.
    package private(set) var lineages: [Lineage]
    /// What the store calls the user whose session it is, or called the same user before; the latest last.
    package private(set) var subjects: [String]

    package init(since: UnixTime, expiresAt: UnixTime, lineage: Lineage, subject: String) {
        self.since = since
        self.expiresAt = expiresAt
        self.lineages = [lineage]
        self.subjects = [subject]
    }

    /// Adds a lineage of the user whom the store calls so.
    ///
    /// - Returns: The oldest lineages, for which there is no room. The caller ends them, as no logout would find them.
    package mutating func add(_ lineage: Lineage, of subject: String, until expiresAt: UnixTime) -> [Lineage] {
        self.subjects = (self.subjects.filter { !$0.isExactly(subject) } + [subject]).suffix(Self.subjectLimit)
        self.lineages = self.lineages.filter { $0 != lineage } + [lineage]
        self.expiresAt = max(self.expiresAt, expiresAt)
        let surplus = self.lineages.dropLast(Self.lineageLimit)
        self.lineages.removeFirst(surplus.count)
        return Array(surplus)
    }

    /// Whether nobody else's session began with it.
    func isOnly(of subject: String) -> Bool { self.subjects.allSatisfy { $0.isExactly(subject) } }

    package static var kind: RecordKind { .providerSession }
    /// No session lives longer.
    package static var longestLife: Duration { .seconds(400 * 86_400) }
    /// A sign-in that no logout of the provider could find must not be lost in a failover.
    package static var isConfirmed: Bool { true }
    package var terms: RecordTerms { RecordTerms(since: self.since, expiresAt: self.expiresAt) }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.since)
        writer.write(self.expiresAt)
        writer.write(list: self.lineages) { $0.write($1.tag) }
        writer.write(self.subjects.joined(separator: String(Unicode.Scalar(Self.separator))))
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ProviderSessionRecord {
        let since = try reader.time()
        let expiresAt = try reader.time()
        let lineages = try reader.list { (reader) throws(CompactFormatError) in try reader.lineage() }
        guard let lineage = lineages.first else { throw CompactFormatError() }
        let subjects = try reader.text().utf8.split(separator: Self.separator, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard let subject = subjects.last else { throw CompactFormatError() }
        var record = ProviderSessionRecord(since: since, expiresAt: expiresAt, lineage: lineage, subject: subject)
        record.lineages = lineages
        record.subjects = subjects
        return record
    }
}

/// Notes that a logout token was obeyed, so that it is not obeyed again: a provider may use its `sid` for a new sign-in
/// (OpenID Connect Back-Channel Logout 1.0 2.6, step 7). Written after the sessions have ended, so that a provider whose
/// request failed may repeat it.
package struct LogoutReceipt: ReplaceableRecord, Hashable {
    package var since: UnixTime
    package var expiresAt: UnixTime

    package static var kind: RecordKind { .logoutReceipt }
    package static var longestLife: Duration { .seconds(86_400) }
    package var terms: RecordTerms { RecordTerms(since: self.since, expiresAt: self.expiresAt) }

    package init(since: UnixTime, expiresAt: UnixTime) {
        self.since = since
        self.expiresAt = expiresAt
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.since)
        writer.write(self.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> LogoutReceipt {
        LogoutReceipt(since: try reader.time(), expiresAt: try reader.time())
    }
}
