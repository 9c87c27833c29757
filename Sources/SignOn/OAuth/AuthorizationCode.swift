package import Sessions
package import Vocabulary

/// An authorization code that was issued and not yet redeemed (RFC 6749 4.1.2).
package struct AuthorizationCode: SingleUseRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "a")) }
    package static var longestLife: Duration { Self.lifetime }
    /// A code contains a whole session, with all traits from the provider.
    package static var sizeLimit: Int { 1 << 20 }
    /// The lifetime of a code. RFC 6749 4.1.2 allows up to ten minutes, but a client redeems a code at once.
    package static let lifetime = Duration.seconds(60)

    /// The session that begins when the code is redeemed.
    package var session: Session
    package var audience: String?
    /// The granted scopes, without `offline_access` if the client gets no refresh token.
    package var scopes: [String]
    package var hasRefresh: Bool
    /// `redirect_uri` of the authorization request. The token request must repeat it (RFC 6749 4.1.3). `nil` if the
    /// request had none because the client has only one URI.
    package var redirectURI: String?
    /// `code_challenge` with S256 (RFC 7636 4.2). `nil` if the client is confidential and sent no challenge.
    package var challenge: String?
    package var nonce: String?
    /// `dpop_jkt`: the thumbprint of the key that must be proven when the code is redeemed (RFC 9449 10).
    package var keyThumbprint: String?
    package var issuedAt: UnixTime
    /// The session that must still exist when the code is redeemed. `nil` if the code and its tokens outlive the
    /// session.
    package var parent: RecordKey?
    /// True if the code's refresh tokens end with `parent`.
    package var endsWithParent: Bool

    package init(
        session: Session,
        audience: String?,
        scopes: [String],
        hasRefresh: Bool,
        redirectURI: String?,
        challenge: String?,
        nonce: String?,
        keyThumbprint: String?,
        issuedAt: UnixTime,
        parent: RecordKey?,
        endsWithParent: Bool = false
    ) {
        self.session = session
        self.audience = audience
        self.scopes = scopes
        self.hasRefresh = hasRefresh
        self.redirectURI = redirectURI
        self.challenge = challenge
        self.nonce = nonce
        self.keyThumbprint = keyThumbprint
        self.issuedAt = issuedAt
        self.parent = parent
        self.endsWithParent = endsWithParent
    }

    package var terms: RecordTerms {
        RecordTerms(
            since: self.issuedAt,
            expiresAt: self.issuedAt.advanced(by: Self.lifetime),
            owner: RecordOwner(subject: self.session.subject, epoch: self.session.epoch),
            parent: self.parent
        )
    }

    package func write(to writer: inout CompactWriter) {
        self.session.write(to: &writer)
        writer.write(optional: self.audience) { $0.write($1) }
        writer.write(list: self.scopes) { $0.write($1) }
        writer.write(byte: (self.hasRefresh ? 1 : 0) | (self.endsWithParent ? 2 : 0))
        writer.write(optional: self.redirectURI) { $0.write($1) }
        writer.write(optional: self.challenge) { $0.write($1) }
        writer.write(optional: self.nonce) { $0.write($1) }
        writer.write(optional: self.keyThumbprint) { $0.write($1) }
        writer.write(self.issuedAt)
        writer.write(optional: self.parent) { $0.write($1) }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> AuthorizationCode {
        let session = try Session.read(from: &reader)
        let audience = try reader.optionalText()
        let scopes = try reader.texts()
        let flags = try reader.byte()
        return AuthorizationCode(
            session: session,
            audience: audience,
            scopes: scopes,
            hasRefresh: flags & 1 != 0,
            redirectURI: try reader.optionalText(),
            challenge: try reader.optionalText(),
            nonce: try reader.optionalText(),
            keyThumbprint: try reader.optionalText(),
            issuedAt: try reader.time(),
            parent: try reader.optional { (reader) throws(CompactFormatError) in try reader.key() },
            endsWithParent: flags & 2 != 0
        )
    }
}

extension TokenKind {
    /// An authorization code.
    package static var code: TokenKind { TokenKind(prefix: "spc_", record: AuthorizationCode.kind) }
}
