package import Vocabulary

/// The record of a session-transfer token, until the token is used, burned or expired.
package struct TransferToken: Sendable, Hashable {
    /// The native session from which the token was minted. In a delegated token, this copy also names the actor, and
    /// expires no later than the actor's session.
    package var parent: Session
    package var parentKey: RecordKey
    package var clientID: String
    /// The public authority (`host[:port]`) that the token's audience names; `nil` if the token is valid on every host.
    package var host: String?
    package var device: DeviceFacts
    package var scopes: [String]
    package var issuedAt: UnixTime
    package var expiresAt: UnixTime

    package init(
        parent: Session,
        parentKey: RecordKey,
        clientID: String,
        host: String? = nil,
        device: DeviceFacts,
        scopes: [String],
        issuedAt: UnixTime,
        expiresAt: UnixTime
    ) {
        self.parent = parent
        self.parentKey = parentKey
        self.clientID = clientID
        self.host = host
        self.device = device
        self.scopes = scopes
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }
}

extension TransferToken {
    /// The subject of the person who acts for the user (delegated token); `nil` if nobody does.
    package var actor: String? { self.parent.actor }

    /// Returns the native session as the web session copies it. A delegated token adds the actor, and limits the expiry
    /// to the actor's session.
    ///
    /// - Parameter parent: The native session as it is now.
    package func source(_ parent: Session) -> Session {
        guard let actor = self.actor else { return parent }
        var source = parent
        source.actor = actor
        source.expiresAt = min(parent.expiresAt, self.parent.expiresAt)
        return source
    }
}

extension TransferToken: SingleUseRecord {
    package static var kind: RecordKind { .transfer }
    /// The longest `handoff.lifetime`.
    package static var longestLife: Duration { .seconds(300) }
    /// A transfer token contains a whole session with all traits from the provider, so it may have up to 1 MiB.
    package static var sizeLimit: Int { 1 << 20 }
    package static var isReadWithParent: Bool { true }

    package var terms: RecordTerms {
        RecordTerms(
            since: self.issuedAt,
            expiresAt: self.expiresAt,
            owner: RecordOwner(subject: self.parent.subject, epoch: self.parent.epoch),
            parent: self.parentKey
        )
    }

    package func write(to writer: inout CompactWriter) {
        self.parent.write(to: &writer)
        writer.write(self.parentKey)
        writer.write(self.clientID)
        writer.write(optional: self.host) { $0.write($1) }
        writer.write(self.device)
        writer.write(list: self.scopes) { $0.write($1) }
        writer.write(self.issuedAt)
        writer.write(self.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> TransferToken {
        TransferToken(
            parent: try Session.read(from: &reader),
            parentKey: try reader.key(),
            clientID: try reader.text(),
            host: try reader.optionalText(),
            device: try reader.device(),
            scopes: try reader.texts(),
            issuedAt: try reader.time(),
            expiresAt: try reader.time()
        )
    }
}
