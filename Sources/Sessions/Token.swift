package import Cryptography
package import Vocabulary

/// A kind of record, identified by a letter in its keys in the store (`sp:<letter>:`).
///
/// Each kind has a different letter. The store itself uses `c`, `d`, `e`, `f`, `g`, `i`, `l`, `m`, `o`, `u`, `y`.
package struct RecordKind: Sendable, Hashable {
    /// A lower-case ASCII letter.
    package let letter: UInt8

    package init(letter: UInt8) {
        self.letter = letter
    }

    package static var session: RecordKind { RecordKind(letter: UInt8(ascii: "s")) }
    package static var transfer: RecordKind { RecordKind(letter: UInt8(ascii: "t")) }
    package static var hostTicket: RecordKind { RecordKind(letter: UInt8(ascii: "h")) }
    /// The tokens that a provider issued for a lineage.
    package static var grant: RecordKind { RecordKind(letter: UInt8(ascii: "p")) }
}

/// The purpose of a token. Secret scanners recognise a token by its prefix.
package struct TokenKind: Sendable, Hashable {
    /// The four characters that every token of the kind begins with.
    package let prefix: String
    /// The kind of the record that a token names.
    package let record: RecordKind

    package init(prefix: String, record: RecordKind) {
        precondition(prefix.utf8.count == TokenAuthority.prefixLength, "a token's prefix has four characters")
        self.prefix = prefix
        self.record = record
    }

    /// A session: a browser's cookie or a native app's bearer token.
    package static var session: TokenKind { TokenKind(prefix: "sps_", record: .session) }
    /// An access token: a session with `AccessTerms`.
    package static var access: TokenKind { TokenKind(prefix: "spa_", record: .session) }
    /// A single-use session-transfer token.
    package static var transfer: TokenKind { TokenKind(prefix: "spt_", record: .transfer) }
    /// A single-use ticket from one host of the gateway to another.
    package static var hostTicket: TokenKind { TokenKind(prefix: "sph_", record: .hostTicket) }
}

/// All sessions, tokens and codes that came from one sign-in and end together. A tag identifies the lineage and selects
/// the hash slot of all its records.
package struct Lineage: Sendable, Hashable {
    /// The tag: ten base64url characters.
    package let tag: String

    package init(tag: String) {
        self.tag = tag
    }

    /// Reads a stored tag; `nil` if it cannot be a tag.
    package init?(stored tag: String) {
        guard tag.utf8.count == TokenAuthority.tagLength else { return nil }
        self.tag = tag
    }

    /// Derives the lineage of a hash.
    init(_ hash: Digest256) {
        // Eight bytes are eleven characters. The first ten carry 60 bits.
        let text = hash.withUnsafeBytes { Base64URL.encode(UnsafeRawBufferPointer(rebasing: $0.prefix(8))) }
        self.tag = String(decoding: text.utf8.prefix(TokenAuthority.tagLength), as: UTF8.self)
    }
}

/// The key of a record in the store. The key is not secret.
package struct RecordKey: Sendable, Hashable {
    package let kind: RecordKind
    package let lineage: Lineage
    /// HMAC-SHA-256(pepper, token) for the record of a token. Other records have another keyed hash.
    package let digest: Digest256

    package init(kind: RecordKind, lineage: Lineage, digest: Digest256) {
        self.kind = kind
        self.lineage = lineage
        self.digest = digest
    }

    /// The fingerprint that identifies the token in logs.
    package var fingerprint: Fingerprint { Fingerprint(self.digest.leading) }

    package static func == (left: RecordKey, right: RecordKey) -> Bool {
        // The digest is compared first, because it differs in nearly all cases.
        left.digest == right.digest && left.lineage == right.lineage && left.kind == right.kind
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.digest)
    }
}
