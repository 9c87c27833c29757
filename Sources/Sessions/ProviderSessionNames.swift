import Cryptography

/// Store keys of records that are found by a name, such as a provider's session id. Each key is an HMAC under the
/// pepper. Each record has its own lineage, so it outlives the sessions that it lists.
extension TokenAuthority {
    /// Returns the keys of the record about the provider's session `id` (`sid`). Write under the first key, which
    /// belongs to the current secret; read under all.
    package func providerSessionKeys(_ id: String, of provider: String) -> [RecordKey] {
        self.keys.map { Self.named("provider session", id, of: provider, .providerSession, under: $0) }
    }

    /// Returns the keys of the receipt for the logout token `id` (`jti`). Write under the first key; read under all.
    package func logoutReceiptKeys(_ id: String, of provider: String) -> [RecordKey] {
        self.keys.map { Self.named("logout token", id, of: provider, .logoutReceipt, under: $0) }
    }

    /// Returns the key of the grant with the token or cookie under `foreign` (`ForeignNames.key`).
    package func grantKey(ofForeign foreign: RecordKey) -> RecordKey {
        Self.named("grant of a token", foreign.digest.base64URL, of: "", .grant, under: self.current)
    }

    /// Returns the keys of the record of clients' tokens in a lineage. Write under the first key; read under all.
    package func clientSessionKeys(in lineage: Lineage) -> [RecordKey] {
        self.namedKeys("clients of a lineage", lineage.tag, .providerSession)
    }

    /// Returns the keys of the record of the tokens that clients got from a subject's sessions at a provider. Write
    /// under the first key; read under all.
    package func clientSessionKeys(of subject: String) -> [RecordKey] {
        self.namedKeys("clients of a subject", subject, .providerSession)
    }

    /// Returns the keys of a record named `id`. Write under the first key; read under all.
    ///
    /// - Parameter label: The purpose of the record. Each purpose has a different label.
    package func namedKeys(_ label: String, _ id: String, _ kind: RecordKind) -> [RecordKey] {
        self.keys.map { Self.named(label, id, of: "", kind, under: $0) }
    }

    /// Returns the key under one secret. The label and the provider's name each end with a zero byte, which neither
    /// contains, so different names never hash the same bytes.
    private static func named(
        _ label: String,
        _ id: String,
        of provider: String,
        _ kind: RecordKind,
        under secret: Key
    ) -> RecordKey {
        let digest = secret.pepper.sha256(Array("\(label)\u{0}\(provider)\u{0}\(id)".utf8))
        return RecordKey(kind: kind, lineage: Lineage(digest), digest: digest)
    }
}

extension RecordKind {
    /// A record of what came from a provider's session, or of what clients got. The keys' labels tell the two apart.
    package static var providerSession: RecordKind { RecordKind(letter: UInt8(ascii: "v")) }
    /// A record of a logout token that the gateway has executed.
    package static var logoutReceipt: RecordKind { RecordKind(letter: UInt8(ascii: "j")) }
}
