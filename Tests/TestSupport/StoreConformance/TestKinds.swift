import AddressIntelligence
package import Sessions
package import Vocabulary

/// A kind of single-use record that the cases can make.
package protocol SingleUseSpecimen: SingleUseRecord {
    static var token: TokenKind { get }
    /// A record that descends from a session.
    static func made(from parent: NewSession, now: UnixTime, life: Duration) -> Self
    /// All records that are created by a use that signs in with `session`.
    static func offspring(with session: NewSession, now: UnixTime) -> [NewRecord]
}

extension TransferToken: SingleUseSpecimen {
    package static var token: TokenKind { .transfer }

    package static func made(from parent: NewSession, now: UnixTime, life: Duration) -> TransferToken {
        TransferToken(
            parent: parent.session,
            parentKey: parent.key,
            clientID: "app",
            host: "app.example.com:8443",
            device: DeviceFacts(address: IPAddress(v4: 0xC000_0201), asn: 64_500, userAgent: "test"),
            scopes: [],
            issuedAt: now,
            expiresAt: now.advanced(by: life)
        )
    }

    package static func offspring(with session: NewSession, now: UnixTime) -> [NewRecord] { [.session(session)] }
}

/// A second kind of single-use record, whose use creates a session, a family and another ticket.
package struct TestTicket: SingleUseRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "x")) }
    package static var longestLife: Duration { .seconds(600) }
    package static var sizeLimit: Int { 1024 }

    package var note: String
    package var terms: RecordTerms

    package init(note: String, terms: RecordTerms) {
        self.note = note
        self.terms = terms
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.note)
        self.terms.write(to: &writer)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> TestTicket {
        TestTicket(note: try reader.text(), terms: try RecordTerms.read(from: &reader))
    }
}

extension TestTicket: SingleUseSpecimen {
    package static var token: TokenKind { TokenKind(prefix: "spx_", record: Self.kind) }

    package static func made(from parent: NewSession, now: UnixTime, life: Duration) -> TestTicket {
        TestTicket(note: "ticket", terms: RecordTerms(of: parent, now: now, life: life, hasParent: true))
    }

    package static func offspring(with session: NewSession, now: UnixTime) -> [NewRecord] {
        let terms = RecordTerms(of: session, now: now, life: .seconds(86_400), hasParent: false)
        return [
            .session(session),
            .replaceable(Self.family(of: session.key), TestFamily(generation: 1, terms: terms)),
            .singleUse(Self.child(of: session.key), TestTicket(note: "child", terms: terms)),
        ]
    }

    /// The key of the family that a use creates with this session.
    package static func family(of session: RecordKey) -> RecordKey {
        RecordKey(kind: TestFamily.kind, lineage: session.lineage, digest: session.digest)
    }

    /// The key of the ticket that a use creates with this session.
    package static func child(of session: RecordKey) -> RecordKey {
        RecordKey(kind: TestTicket.kind, lineage: session.lineage, digest: session.digest)
    }
}

/// A kind of replaceable record whose writes are confirmed and which survives a change of the primary.
package struct TestFamily: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "y")) }
    package static var longestLife: Duration { .seconds(7 * 86_400) }
    package static var sizeLimit: Int { 1024 }
    package static var isConfirmed: Bool { true }
    package static var isBoundToReign: Bool { false }

    package var generation: UInt64
    package var note: String
    package var terms: RecordTerms

    package init(generation: UInt64, note: String = "", terms: RecordTerms) {
        self.generation = generation
        self.note = note
        self.terms = terms
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.generation)
        writer.write(self.note)
        self.terms.write(to: &writer)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> TestFamily {
        TestFamily(
            generation: try reader.unsigned(),
            note: try reader.text(),
            terms: try RecordTerms.read(from: &reader)
        )
    }
}

/// A kind of replaceable record with the opposite rules.
package struct TestGrant: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "z")) }
    package static var longestLife: Duration { .seconds(86_400) }
    package static var isConfirmed: Bool { false }
    package static var isBoundToReign: Bool { true }

    package var text: String
    package var terms: RecordTerms

    package init(text: String, terms: RecordTerms) {
        self.text = text
        self.terms = terms
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.text)
        self.terms.write(to: &writer)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> TestGrant {
        TestGrant(text: try reader.text(), terms: try RecordTerms.read(from: &reader))
    }
}

/// A kind of document.
package struct TestDocument: Document, Hashable {
    package static var collection: String { "test-documents" }
    package static var sizeLimit: Int { 1024 }
    package static var countLimit: Int { 40 }

    package var text: String

    package init(_ text: String) {
        self.text = text
    }

    package func write(to writer: inout CompactWriter) { writer.write(self.text) }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> TestDocument {
        TestDocument(try reader.text())
    }
}

extension RecordTerms {
    /// Terms of a record that ends when the session's subject is ended.
    package init(of session: NewSession, now: UnixTime, life: Duration, hasParent: Bool) {
        self.init(
            since: now,
            expiresAt: now.advanced(by: life),
            owner: RecordOwner(subject: session.session.subject, epoch: session.session.epoch),
            parent: hasParent ? session.key : nil
        )
    }

    fileprivate func write(to writer: inout CompactWriter) {
        writer.write(self.since)
        writer.write(self.expiresAt)
        writer.write(optional: self.owner) { writer, owner in
            writer.write(owner.subject)
            writer.write(owner.epoch)
        }
        writer.write(optional: self.parent) { $0.write($1) }
    }

    fileprivate static func read(from reader: inout CompactReader) throws(CompactFormatError) -> RecordTerms {
        RecordTerms(
            since: try reader.time(),
            expiresAt: try reader.time(),
            owner: try reader.optional { (reader) throws(CompactFormatError) in
                RecordOwner(subject: try reader.text(), epoch: try reader.unsigned())
            },
            parent: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() }
        )
    }
}

extension RecordKind {
    /// The letter as a string.
    var name: String { String(UnicodeScalar(self.letter)) }
}
