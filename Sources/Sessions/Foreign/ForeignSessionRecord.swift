package import Vocabulary

/// The record of a foreign token: the session that its provider vouched for.
///
/// The record has no owner (`RecordTerms.owner`), so it outlives the sign-out of its subject and shows that the token
/// was accepted before. No replica has to confirm it: if a failover loses it, the provider is asked again.
package struct ForeignSessionRecord: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { .foreignSession }
    package static var longestLife: Duration { .seconds(400 * 86_400) }
    /// Enough for the claims of a JSON Web Token (at most 8 KiB) or of an introspection answer (at most 64 KiB).
    package static var sizeLimit: Int { 131_072 }
    package static var isConfirmed: Bool { false }

    package var foreign: ForeignSession
    /// The epoch of the provider's session when the token was first accepted. `foreign.session.epoch` is the subject's.
    package var providerSessionEpoch: UInt64
    /// The time when the token was first accepted.
    package var acceptedAt: UnixTime

    package init(foreign: ForeignSession, providerSessionEpoch: UInt64, acceptedAt: UnixTime) {
        self.foreign = foreign
        self.providerSessionEpoch = providerSessionEpoch
        self.acceptedAt = acceptedAt
    }

    package var terms: RecordTerms {
        RecordTerms(since: self.acceptedAt, expiresAt: self.foreign.session.expiresAt)
    }

    package func write(to writer: inout CompactWriter) {
        self.foreign.session.write(to: &writer)
        writer.write(self.foreign.verdict.givenAt)
        writer.write(self.foreign.verdict.usableUntil)
        writer.write(byte: self.foreign.verdict.isAdmitted ? 1 : 0)
        writer.write(self.providerSessionEpoch)
        writer.write(self.acceptedAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ForeignSessionRecord {
        ForeignSessionRecord(
            foreign: ForeignSession(
                session: try Session.read(from: &reader),
                verdict: ForeignVerdict(
                    givenAt: try reader.time(),
                    usableUntil: try reader.time(),
                    isAdmitted: try reader.byte() == 1
                )
            ),
            providerSessionEpoch: try reader.unsigned(),
            acceptedAt: try reader.time()
        )
    }
}
