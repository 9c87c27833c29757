package import Cryptography
package import Vocabulary

/// The single-use code that carries a sign-in from one host to another. Only the browser that has the nonce of the
/// ticket's challenge can use the ticket.
package struct HostTicket: Sendable, Hashable {
    /// The lifetime of a ticket. A browser presents the ticket at once.
    package static let lifetime = Duration.seconds(60)

    /// The session that issued the ticket. The new session copies the state that this session has at the time of use.
    package var parent: RecordKey
    /// The user of the session that issued the ticket.
    package var owner: RecordOwner
    /// The public authority (`host[:port]`) on which the ticket is valid.
    package var host: String
    /// The SHA-256 of the nonce in a cookie of the ticket's host.
    package var challenge: Digest256
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime

    package init(
        parent: RecordKey,
        owner: RecordOwner,
        host: String,
        challenge: Digest256,
        issuedAt: UnixTime,
        expiresAt: UnixTime
    ) {
        self.parent = parent
        self.owner = owner
        self.host = host
        self.challenge = challenge
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }
}

extension HostTicket: SingleUseRecord {
    package static var kind: RecordKind { .hostTicket }
    package static var longestLife: Duration { Self.lifetime }

    package var terms: RecordTerms {
        RecordTerms(since: self.issuedAt, expiresAt: self.expiresAt, owner: self.owner, parent: self.parent)
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.parent)
        writer.write(self.owner.subject)
        writer.write(self.owner.epoch)
        writer.write(self.host)
        writer.write(self.challenge.base64URL)
        writer.write(self.issuedAt)
        writer.write(self.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> HostTicket {
        HostTicket(
            parent: try reader.key(),
            owner: RecordOwner(subject: try reader.text(), epoch: try reader.unsigned()),
            host: try reader.text(),
            challenge: try reader.digest(),
            issuedAt: try reader.time(),
            expiresAt: try reader.time()
        )
    }
}
