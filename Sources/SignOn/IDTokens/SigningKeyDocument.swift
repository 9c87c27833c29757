import Cryptography
import JOSE
import Sessions
package import Vocabulary

/// The stored document with the private keys of id_tokens, shared by all gateways.
///
/// Each key is sealed, so the store cannot read it. The gateway can tell which of its secrets sealed a key.
package struct SigningKeyDocument: Document {
    package static var collection: String { "signing-keys" }
    /// The maximum number of documents: the document in use, and documents sealed under lost secrets
    /// (`IDTokenKeys.rotate`).
    package static var countLimit: Int { 16 }

    static let id = "id-token"
    static var key: DocumentKey { DocumentKey(collection: Self.collection, id: Self.id) }

    struct Entry: Sendable {
        let keyID: String
        let signsFrom: UnixTime
        /// The private key in PKCS #8, sealed.
        let sealed: [UInt8]

        fileprivate static func place(_ keyID: String) -> [UInt8] { Array("id_token key \(keyID)".utf8) }
    }

    let entries: [Entry]

    /// Returns the keys. `nil` if a key cannot be unsealed.
    func plan(_ ring: SealingKeyRing) -> KeyPlan? {
        var keys: [KeyPlan.Planned] = []
        for entry in self.entries {
            guard let bytes = try? ring.open(entry.sealed, for: Entry.place(entry.keyID)),
                let key = try? SigningKey(pkcs8: Secret(bytes), algorithm: .rs256),
                key.publicKey.thumbprint == entry.keyID
            else { return nil }
            keys.append(KeyPlan.Planned(key: key, signsFrom: entry.signsFrom))
        }
        return KeyPlan(keys)
    }

    /// Returns true if a key is sealed under an older secret. Removing that secret would lose the key.
    func isSealedUnderOlderSecret(_ ring: SealingKeyRing) -> Bool {
        !self.entries.allSatisfy { ring.isCurrent($0.sealed) }
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(list: self.entries) { writer, entry in
            writer.write(entry.keyID)
            writer.write(entry.signsFrom)
            writer.write(Secret(entry.sealed))
        }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> SigningKeyDocument {
        SigningKeyDocument(
            entries: try reader.list { (reader) throws(CompactFormatError) in
                Entry(keyID: try reader.text(), signsFrom: try reader.time(), sealed: try reader.secret().bytes)
            }
        )
    }
}

extension SigningKeyDocument {
    init(_ plan: KeyPlan, _ ring: SealingKeyRing) {
        self.entries = plan.keys.map { planned in
            let keyID = planned.key.publicKey.thumbprint
            return Entry(
                keyID: keyID,
                signsFrom: planned.signsFrom,
                sealed: ring.seal(planned.key.pkcs8.bytes, for: Entry.place(keyID))
            )
        }
    }
}
