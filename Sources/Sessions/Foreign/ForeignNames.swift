import Cryptography

/// The names of one provider's tokens and of their sessions: HMACs under the pepper, like those of the gateway's own
/// tokens. The hashed input begins with a label and not with a token prefix, so that no foreign token has the key of one of
/// the gateway's tokens.
package struct ForeignNames: Sendable {
    private let authority: TokenAuthority
    // What is hashed before each token or id: made once, because it costs more than the hash.
    private let lineageLabel: [UInt8]
    private let tokenLabel: [UInt8]
    private let cookieLabel: [UInt8]
    private let sessionLabel: [UInt8]
    private let tokenSessionLabel: [UInt8]

    /// - Parameter configuration: What decides whether and how the provider's tokens are accepted: after a change of it, no
    ///   earlier verdict is used. The lineage stays the same, so that a token that was signed out stays so.
    package init(_ authority: TokenAuthority, provider: String, configuration: String = "") {
        self.authority = authority
        self.lineageLabel = Self.label(["lineage", provider])
        self.tokenLabel = Self.label(["token", provider, configuration])
        self.cookieLabel = Self.label(["cookie", provider, configuration])
        self.sessionLabel = Self.label(["session id", provider])
        self.tokenSessionLabel = Self.label(["token id", provider])
    }

    /// The lineages of a token under every accepted secret, the present one first. A token that is signed out ends in all
    /// of them, so that it stays so when another secret becomes the present one.
    package func lineages(of token: UnsafeRawBufferPointer) -> [Lineage] {
        let digest = SHA256.digest(token)
        return self.authority.keys.map { self.lineage(digest, under: $0) }
    }

    /// The key of the token's record, in a lineage of this token alone: so its record is found before the provider is
    /// asked. The tokens of one of the provider's sessions end together by `ProviderSession.endName`.
    ///
    /// - Parameter kind: How it is presented.
    package func key(of token: UnsafeRawBufferPointer, as kind: Session.Kind = .native) -> RecordKey {
        // A token has hundreds of bytes, so it is hashed once, and its digest under each name.
        let digest = SHA256.digest(token)
        return RecordKey(
            kind: .foreignSession,
            lineage: self.lineage(digest, under: self.authority.current),
            digest: digest.withUnsafeBytes { self.hash(kind == .native ? self.tokenLabel : self.cookieLabel, $0) }
        )
    }

    /// The public id of the provider's session with this id: the same for all of its tokens.
    package func sessionID(session id: String) -> String {
        var id = id
        return id.withUTF8 { self.sessionID(self.sessionLabel, UnsafeRawBufferPointer($0)) }
    }

    /// The public id of the session of a token for which the provider names none.
    ///
    /// - Parameter lineage: The token's.
    package func sessionID(token lineage: Lineage) -> String {
        var tag = lineage.tag
        return tag.withUTF8 { self.sessionID(self.tokenSessionLabel, UnsafeRawBufferPointer($0)) }
    }

    // MARK: Steps

    /// The label and each name are preceded by their length, so that no two inputs are the same bytes.
    static func label(_ names: [String]) -> [UInt8] {
        Array("foreign ".utf8) + names.flatMap { Array("\($0.utf8.count) \($0)".utf8) }
    }

    private func hash(
        _ label: [UInt8],
        _ bytes: UnsafeRawBufferPointer,
        under key: TokenAuthority.Key? = nil
    ) -> Digest256 {
        label.withUnsafeBytes { (key ?? self.authority.current).pepper.sha256($0, bytes) }
    }

    private func lineage(_ digest: Digest256, under key: TokenAuthority.Key) -> Lineage {
        Lineage(digest.withUnsafeBytes { self.hash(self.lineageLabel, $0, under: key) })
    }

    private func sessionID(_ label: [UInt8], _ bytes: UnsafeRawBufferPointer) -> String {
        self.hash(label, bytes).withUnsafeBytes {
            TokenAuthority.sessionID(UnsafeRawBufferPointer(rebasing: $0.prefix(TokenAuthority.idBytes)))
        }
    }
}

extension TokenAuthority {
    /// Whether the bytes have the form of a token that this gateway makes, of any kind and under any secret: no provider
    /// is shown such a token.
    package static func hasOwnForm(_ token: UnsafeRawBufferPointer) -> Bool {
        guard token.count == Self.tokenLength, token.starts(with: "sp".utf8) else { return false }
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(token[2]) && token[3] == UInt8(ascii: "_")
    }
}
