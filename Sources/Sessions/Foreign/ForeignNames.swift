import Cryptography

/// The keys and ids of one provider's tokens and sessions: HMACs under the pepper. Each hashed input begins with a
/// label, so no foreign token has the key of a gateway token.
package struct ForeignNames: Sendable {
    private let authority: TokenAuthority
    // The bytes that are hashed before each token or id. Built once, because building them costs more than hashing.
    private let lineageLabel: [UInt8]
    private let tokenLabel: [UInt8]
    private let cookieLabel: [UInt8]
    private let sessionLabel: [UInt8]
    private let tokenSessionLabel: [UInt8]

    /// - Parameter configuration: The settings for the provider's tokens. A change gives the tokens new keys, so that
    ///   no earlier verdict is used. Their lineages stay the same, so a signed-out token stays signed out.
    package init(_ authority: TokenAuthority, provider: String, configuration: String = "") {
        self.authority = authority
        self.lineageLabel = Self.label(["lineage", provider])
        self.tokenLabel = Self.label(["token", provider, configuration])
        self.cookieLabel = Self.label(["cookie", provider, configuration])
        self.sessionLabel = Self.label(["session id", provider])
        self.tokenSessionLabel = Self.label(["token id", provider])
    }

    /// Returns the token's lineage under every accepted secret, the current secret first. A sign-out ends all of them,
    /// so the token stays signed out when another secret becomes current.
    package func lineages(of token: UnsafeRawBufferPointer) -> [Lineage] {
        let digest = SHA256.digest(token)
        return self.authority.keys.map { self.lineage(digest, under: $0) }
    }

    /// Returns the key of the token's record. Each token has its own lineage, so the key needs no answer of the
    /// provider.
    ///
    /// - Parameter kind: How the token is presented.
    package func key(of token: UnsafeRawBufferPointer, as kind: Session.Kind = .native) -> RecordKey {
        // A token has hundreds of bytes, so it is hashed once, and its digest is hashed under each name.
        let digest = SHA256.digest(token)
        return RecordKey(
            kind: .foreignSession,
            lineage: self.lineage(digest, under: self.authority.current),
            digest: digest.withUnsafeBytes { self.hash(kind == .native ? self.tokenLabel : self.cookieLabel, $0) }
        )
    }

    /// Returns the gateway's public id of the provider session `id`. All tokens of the session share it.
    package func sessionID(session id: String) -> String {
        var id = id
        return id.withUTF8 { self.sessionID(self.sessionLabel, UnsafeRawBufferPointer($0)) }
    }

    /// Returns the public session id of a token whose provider names no session.
    ///
    /// - Parameter lineage: The token's lineage.
    package func sessionID(token lineage: Lineage) -> String {
        var tag = lineage.tag
        return tag.withUTF8 { self.sessionID(self.tokenSessionLabel, UnsafeRawBufferPointer($0)) }
    }

    // MARK: Steps

    /// Returns the label of these names. Each name is preceded by its length, so different names give different labels.
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
    /// Reports whether the bytes have the form of a token that this gateway makes, of any kind and under any secret.
    /// The gateway never shows these tokens to a provider.
    package static func hasOwnForm(_ token: UnsafeRawBufferPointer) -> Bool {
        guard token.count == Self.tokenLength, token.starts(with: "sp".utf8) else { return false }
        return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(token[2]) && token[3] == UInt8(ascii: "_")
    }
}
