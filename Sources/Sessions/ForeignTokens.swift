internal import Cryptography
package import NIOCore
package import Vocabulary

/// Tokens that a provider made and knows, not this gateway, as a resolver uses them.
package protocol ForeignTokens: Sendable {
    /// The name of the provider that may know these bytes, by their syntax alone; nil if none does. Called on an event
    /// loop, for tokens that are not of the gateway's own syntax.
    func provider(of token: UnsafeRawBufferPointer) -> String?

    /// Asks that provider for the session of the token; nil if it knows none.
    ///
    /// - Returns: A future of `loop`. It fails with `StoreError.unavailable` when the provider cannot answer.
    func session(_ token: Secret, on loop: any EventLoop) -> EventLoopFuture<ForeignSession?>
}

/// A session that a provider knows. It is kept in a loop's cache and in no store: the provider decides whether it
/// lives, so after an end is reported here, the next request asks the provider again.
package struct ForeignSession: Sendable {
    /// Native, and of the lineage that `TokenAuthority` derives.
    package let session: Session
    /// The longest time that the provider's answer may be reused; nil: as long as an answer of the store.
    package let cacheLifetime: Duration?

    package init(session: Session, cacheLifetime: Duration?) {
        self.session = session
        self.cacheLifetime = cacheLifetime
    }
}

/// Names of foreign tokens and their sessions: HMACs under the pepper, like those of the gateway's own tokens. The
/// hashed input begins with a label and not with a token prefix, so that no foreign token has the key of one of the
/// gateway's tokens.
extension TokenAuthority {
    /// The lineage of the provider's session with this public id: all of its tokens are one family.
    package func foreignLineage(session id: String, of provider: String) -> Lineage {
        self.foreignLineage("session", Array(id.utf8), of: provider)
    }

    /// The lineage of a token for which the provider names no session.
    package func foreignLineage(token: Secret, of provider: String) -> Lineage {
        self.foreignLineage("token alone", token.bytes, of: provider)
    }

    /// The public id of such a token's session.
    package func foreignSessionID(token: Secret, of provider: String) -> String {
        Self.sessionID(Array(self.foreignHash("session id", token.bytes, of: provider).bytes.prefix(Self.idBytes)))
    }

    /// The key that stands for the token in the table of reads under way.
    func foreignKey(_ token: UnsafeRawBufferPointer, of provider: String) -> RecordKey {
        .foreign(self.foreignHash("token", Array(token), of: provider))
    }

    private func foreignLineage(_ label: String, _ bytes: [UInt8], of provider: String) -> Lineage {
        Lineage(tag: String(self.foreignHash(label, bytes, of: provider).base64URL.prefix(Self.tagLength)))
    }

    /// The label and the provider's name each end with a zero byte, which neither contains, so that no two inputs are
    /// the same bytes.
    private func foreignHash(_ label: String, _ bytes: [UInt8], of provider: String) -> Digest256 {
        self.current.pepper.sha256(Array("foreign \(label)\u{0}\(provider)\u{0}".utf8) + bytes)
    }
}

extension RecordKey {
    /// What stands for a foreign token whose lineage is not known before its provider has answered: no session's key has an
    /// empty one.
    static func foreign(_ digest: Digest256) -> RecordKey {
        RecordKey(kind: .session, lineage: Lineage(tag: ""), digest: digest)
    }
}
