internal import Cryptography
package import Vocabulary

/// The public name of a secret: two base64url characters that stand in every token made with it and tell nothing of it.
package struct KeyID: Sendable, Hashable, CustomStringConvertible {
    static let length = 2

    let bytes: [UInt8]

    /// The name of `secret`, derived by HKDF (RFC 5869). Two secrets share one by chance, once in 4096 pairs.
    package init(of secret: Secret) {
        let id = HKDF.sha256(secret: secret.bytes, salt: [], info: "sallyport key id 1", count: 2)
        self.bytes = Array(Base64URL.encode(id).utf8.prefix(Self.length))
    }

    package var description: String { String(decoding: self.bytes, as: UTF8.self) }
}
