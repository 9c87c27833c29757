package import Cryptography

/// What a token is for; the prefix allows secret scanning and refusal by syntax alone.
package enum TokenKind: String, Sendable, CaseIterable {
    /// A session: a browser's cookie or a native app's bearer token.
    case session = "sps_"
    /// A single-use session-transfer token.
    case transfer = "spt_"
}

/// The short random tag of a family of tokens: it names the hash slot that they share and they end together.
package struct Lineage: Sendable, Hashable {
    /// Ten base64url characters.
    package let tag: String

    package init(tag: String) {
        self.tag = tag
    }
}

/// Where a record lies in the store: no secret, only an HMAC of the token under the pepper.
package struct RecordKey: Sendable, Hashable {
    package let kind: TokenKind
    package let lineage: Lineage
    /// HMAC-SHA-256(pepper, token).
    package let digest: Digest256

    package init(kind: TokenKind, lineage: Lineage, digest: Digest256) {
        self.kind = kind
        self.lineage = lineage
        self.digest = digest
    }

    package static func == (left: RecordKey, right: RecordKey) -> Bool {
        // The digest tells nearly all apart.
        left.digest == right.digest && left.lineage == right.lineage && left.kind == right.kind
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.digest)
    }
}
