package import Cryptography
package import Sessions
package import Vocabulary

/// The code with which a browser returns to a native app. It is useless without the code that the app kept.
package struct ReturnCode: SingleUseRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "x")) }
    package static var longestLife: Duration { .seconds(3600) }
    /// A code contains a whole session, with all traits from the provider.
    package static var sizeLimit: Int { 1 << 20 }

    /// The digest of the app's code.
    package var code: Digest256
    /// The id of the flow.
    package var flow: String
    /// The session that the exchange begins, with the subject's epoch. `nil` if the sign-in failed; the flow says why.
    package var session: Session?
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime

    package init(code: Digest256, flow: String, session: Session?, issuedAt: UnixTime, expiresAt: UnixTime) {
        self.code = code
        self.flow = flow
        self.session = session
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    package var terms: RecordTerms {
        RecordTerms(
            since: self.issuedAt,
            expiresAt: self.expiresAt,
            owner: self.session.map { RecordOwner(subject: $0.subject, epoch: $0.epoch) }
        )
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.code.base64URL)
        writer.write(self.flow)
        writer.write(optional: self.session) { $1.write(to: &$0) }
        writer.write(self.issuedAt)
        writer.write(self.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ReturnCode {
        ReturnCode(
            code: try reader.digest(),
            flow: try reader.text(),
            session: try reader.optional { (reader) throws(CompactFormatError) in try Session.read(from: &reader) },
            issuedAt: try reader.time(),
            expiresAt: try reader.time()
        )
    }
}

extension TokenKind {
    /// The code that a browser brings back to an app.
    package static var returnCode: TokenKind { TokenKind(prefix: "spx_", record: ReturnCode.kind) }
}
