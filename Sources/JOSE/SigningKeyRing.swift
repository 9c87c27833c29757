package import Vocabulary

/// The keys with which the gateway signs what others verify: the first signs, and all are published, so that a verifier
/// knows the next key before it is used.
package struct SigningKeyRing: Sendable {
    /// The key that signs: ES256 for assertions, RS256 for id_tokens.
    package let current: SigningKey
    /// The public keys, the current one's first.
    package let published: JWKSet

    /// One key for each accepted secret of the gateway. So rotating the secret rotates the keys.
    package init(_ secrets: SecretRing) {
        let keys = secrets.all.map { SigningKey.derivedP256(from: $0, purpose: "sallyport assertion signing 1") }
        self.current = keys[0]
        self.published = JWKSet(keys: keys.map(\.publicKey))
    }

    /// Keys of one kind; nil if there are none.
    package init?(_ keys: [SigningKey]) {
        guard let first = keys.first else { return nil }
        self.current = first
        self.published = JWKSet(keys: keys.map(\.publicKey))
    }
}
