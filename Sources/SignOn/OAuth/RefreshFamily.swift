package import Sessions
package import Vocabulary

/// The refresh tokens that follow each other from one sign-in of one client.
///
/// Only the place in the sequence is kept, no token. The user and all that limits the family's life is in a session of
/// its own, which no token presents (`session`): it ends by idle time, sign-out and "log out everywhere" like any other.
package struct RefreshFamily: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "r")) }
    /// The longest `refresh_token.token_lifetime`.
    package static var longestLife: Duration { .seconds(366 * 86_400) }
    // A rotation that a failover undoes is harmless: the former token gives the same successor again, and the successor
    // proves by itself that it was issued. The answer to the former token tells of a rotation that no replica may have
    // confirmed yet; if that is lost, the theft of the former one shows one rotation later.
    package static var isBoundToReign: Bool { false }

    package var clientID: String
    /// The key of the family's session.
    package var session: RecordKey
    /// The API for which access tokens are issued; nil: for none.
    package var audience: String?
    /// What the user granted; a request may ask for less.
    package var scopes: [String]
    /// The thumbprint of the key that the client must prove to have (RFC 9449 5); nil: none.
    package var keyThumbprint: String?
    /// The browser's session that must still exist when a token is used; nil: the family outlives it.
    package var parent: RecordKey?
    /// The generation of the present token.
    package var generation: UInt32
    package var rotatedAt: UnixTime
    package var terms: RecordTerms

    /// How a presented token stands to the present one.
    package enum Place: Sendable, Equatable {
        /// It is the present one; or a later one, after a rotation that the store has lost.
        case present
        /// The one before it, so recently that the client may have lost the answer.
        case former
        /// Any older one: two parties have the family's tokens.
        case replayed
    }

    package func place(of generation: UInt32, leeway: Duration, at now: UnixTime) -> Place {
        if generation >= self.generation { return .present }
        guard generation == self.generation - 1, now.since(self.rotatedAt) <= leeway else { return .replayed }
        return .former
    }

    /// The family after a rotation: `generation` is that of the token that was presented.
    package func rotated(from generation: UInt32, at now: UnixTime) -> RefreshFamily {
        var next = self
        next.generation = generation &+ 1
        next.rotatedAt = now
        return next
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.clientID)
        writer.write(self.session)
        writer.write(optional: self.audience) { $0.write($1) }
        writer.write(list: self.scopes) { $0.write($1) }
        writer.write(optional: self.keyThumbprint) { $0.write($1) }
        writer.write(optional: self.parent) { $0.write($1) }
        writer.write(UInt64(self.generation))
        writer.write(self.rotatedAt)
        writer.write(self.terms.since)
        writer.write(self.terms.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> RefreshFamily {
        RefreshFamily(
            clientID: try reader.text(),
            session: try reader.key(),
            audience: try reader.optionalText(),
            scopes: try reader.texts(),
            keyThumbprint: try reader.optionalText(),
            parent: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() },
            generation: try reader.number(),
            rotatedAt: try reader.time(),
            terms: RecordTerms(since: try reader.time(), expiresAt: try reader.time())
        )
    }
}

extension RefreshFamily {
    /// A new family.
    ///
    /// - Parameter session: Its session, which is written with it.
    package init(
        clientID: String,
        session: NewSession,
        audience: String?,
        scopes: [String],
        keyThumbprint: String?,
        parent: RecordKey? = nil
    ) {
        let record = session.session
        self.init(
            clientID: clientID,
            session: session.key,
            audience: audience,
            scopes: scopes,
            keyThumbprint: keyThumbprint,
            parent: parent,
            generation: 0,
            rotatedAt: record.issuedAt,
            terms: RecordTerms(since: record.issuedAt, expiresAt: record.expiresAt)
        )
    }
}
