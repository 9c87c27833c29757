package import Sessions
package import Vocabulary

/// The lineages that began with one session of a provider (`sid`), for ending them by the `sid`. One `sid` may have
/// several sign-ins.
package struct ProviderSessionRecord: ReplaceableRecord, Hashable {
    /// The maximum number of lineages in a record. A session of a provider rarely has more sign-ins.
    static let lineageLimit = 64
    /// The maximum number of subjects. A user's subject changes when accounts are linked or when the account's address
    /// changes. Sessions of omitted subjects end, too, but are not counted.
    private static let subjectLimit = 8
    /// The separator of subjects. No id contains a control character.
    private static let separator: UInt8 = 1

    package var since: UnixTime
    /// The latest expiry of any lineage.
    package var expiresAt: UnixTime
    /// The lineages, the newest last.
    package private(set) var lineages: [Lineage]
    /// The user's present and earlier subjects, the latest last.
    package private(set) var subjects: [String]

    package init(since: UnixTime, expiresAt: UnixTime, lineage: Lineage, subject: String) {
        self.since = since
        self.expiresAt = expiresAt
        self.lineages = [lineage]
        self.subjects = [subject]
    }

    /// Adds a lineage of this subject.
    ///
    /// - Returns: The oldest lineages, if the record is full. The caller must end them, because no logout would find
    ///   them.
    package mutating func add(_ lineage: Lineage, of subject: String, until expiresAt: UnixTime) -> [Lineage] {
        self.subjects = (self.subjects.filter { !$0.isExactly(subject) } + [subject]).suffix(Self.subjectLimit)
        self.lineages = self.lineages.filter { $0 != lineage } + [lineage]
        self.expiresAt = max(self.expiresAt, expiresAt)
        let surplus = self.lineages.dropLast(Self.lineageLimit)
        self.lineages.removeFirst(surplus.count)
        return Array(surplus)
    }

    /// Returns whether the record contains no other subject.
    func isOnly(of subject: String) -> Bool { self.subjects.allSatisfy { $0.isExactly(subject) } }

    package static var kind: RecordKind { .providerSession }
    /// The maximum lifetime of a session, 400 days.
    package static var longestLife: Duration { .seconds(400 * 86_400) }
    /// A failover must not lose the record, because the provider's logout would then not find the lineages.
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

/// Marks a logout token as carried out, so that a replay is rejected (OpenID Connect Back-Channel Logout 1.0 2.6, step
/// 7). It is written after the sessions have ended, so that the provider can retry a failed request.
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
