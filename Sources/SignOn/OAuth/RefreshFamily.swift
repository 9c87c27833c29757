import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// The refresh tokens that one client rotated from one sign-in.
///
/// The record keeps only the present generation, and no token. The user and the family's lifetimes are in a separate
/// session that no token presents (`session`). That session ends by idle timeout, sign-out or "log out everywhere".
package struct RefreshFamily: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "r")) }
    /// The maximum `refresh_token.token_lifetime`.
    package static var longestLife: Duration { .seconds(366 * 86_400) }
    // If a failover undoes a rotation, the previous token yields the same successor again, and the successor is still
    // accepted. A theft of the previous token may be detected one rotation later.
    package static var isBoundToReign: Bool { false }

    package var clientID: String
    /// The key of the family's session.
    package var session: RecordKey
    /// The API for which access tokens are issued. `nil` if they are for no API.
    package var audience: String?
    /// The scopes that the user granted. A request may ask for fewer.
    package var scopes: [String]
    /// The thumbprint of the key that the client must prove (RFC 9449 5). `nil` if the family is bound to no key.
    package var keyThumbprint: String?
    /// The browser's session that must still exist when a token is used. `nil` if the family outlives that session.
    package var parent: RecordKey?
    /// The generation of the present token.
    package var generation: UInt32
    package var rotatedAt: UnixTime
    package var terms: RecordTerms

    /// The position of a presented token relative to the present one.
    package enum Place: Sendable, Equatable {
        /// The present token, or a later one if the store has lost a rotation.
        case present
        /// The previous token, rotated so recently that the client may have lost the answer.
        case former
        /// Any older token. It shows that two parties have the family's tokens.
        case replayed
    }

    package func place(of generation: UInt32, leeway: Duration, at now: UnixTime) -> Place {
        if generation >= self.generation { return .present }
        guard generation == self.generation - 1, now.since(self.rotatedAt) <= leeway else { return .replayed }
        return .former
    }

    /// Returns whether the provider may have to be asked about the user. A family that was rotated in the current
    /// interval (`confirm_every`) has already asked. Each family's intervals begin at another time, to spread requests.
    package func mustAskProvider(_ settings: RefreshTokenSettings, at now: UnixTime) -> Bool {
        guard settings.follows else { return false }
        guard settings.rotation == .rotating else { return true }
        let length = max(1, settings.confirmEvery.wholeMilliseconds)
        let shift = self.session.digest.bytes.prefix(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        func window(of time: UnixTime) -> Int64 { (time.milliseconds &+ shift) / length }
        return window(of: now) != window(of: self.rotatedAt)
    }

    /// Returns the family after the token of `generation` was presented and rotated.
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
    /// Creates a new family.
    ///
    /// - Parameter session: The family's session. It is written with the family.
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
