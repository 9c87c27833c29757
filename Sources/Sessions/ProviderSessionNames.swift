import Cryptography

/// Names in the store of what a provider or the gateway itself has named, such as a provider's sessions: HMACs under the pepper, each in a lineage of its own,
/// so that no end of a session reaches them.
extension TokenAuthority {
    /// The keys of what is known of the provider's session `id`: the first is written, and all are read, as an earlier
    /// secret may have named it.
    package func providerSessionKeys(_ id: String, of provider: String) -> [RecordKey] {
        self.keys.map { Self.named("provider session", id, of: provider, .providerSession, under: $0) }
    }

    /// The keys of the receipt for the logout token `id` (`jti`): the first is written, and all are read.
    package func logoutReceiptKeys(_ id: String, of provider: String) -> [RecordKey] {
        self.keys.map { Self.named("logout token", id, of: provider, .logoutReceipt, under: $0) }
    }

    /// The keys of what is known under the name `id`, which stands alone: the first is written, and all are read.
    ///
    /// - Parameter label: What the name is for; no two uses have the same label.
    package func namedKeys(_ label: String, _ id: String, _ kind: RecordKind) -> [RecordKey] {
        self.keys.map { Self.named(label, id, of: "", kind, under: $0) }
    }

    /// The label and the provider's name each end with a zero byte, which neither contains, so that no two inputs are
    /// the same bytes.
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
    /// What a session of a provider led to.
    package static var providerSession: RecordKind { RecordKind(letter: UInt8(ascii: "v")) }
    /// A logout token that was obeyed.
    package static var logoutReceipt: RecordKind { RecordKind(letter: UInt8(ascii: "j")) }
}
