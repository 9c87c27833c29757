package import Vocabulary

/// The keys that sign the gateway's tokens. The first key signs, and all keys are published, so that verifiers know the
/// next key before it is used.
package struct SigningKeyRing: Sendable {
    /// The key that signs: ES256 for assertions, RS256 for id_tokens.
    package let current: SigningKey
    /// The public keys, the current one first.
    package let published: JWKSet

    /// Derives one key from each accepted secret of the gateway. Rotating the secret therefore rotates the keys.
    package init(_ secrets: SecretRing) {
        let keys = secrets.all.map { SigningKey.derivedP256(from: $0, purpose: "sallyport assertion signing 1") }
        self.current = keys[0]
        self.published = JWKSet(keys: keys.map(\.publicKey))
    }

    /// Creates a ring of keys of one kind; `nil` if `keys` is empty.
    package init?(_ keys: [SigningKey]) {
        guard let first = keys.first else { return nil }
        self.current = first
        self.published = JWKSet(keys: keys.map(\.publicKey))
    }
}
