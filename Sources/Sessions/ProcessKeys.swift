package import Cryptography
package import Vocabulary

/// The keys that this process derives from the secrets in `secret_file`.
package struct ProcessKeys: Sendable {
    /// The current secret and the earlier secrets that are still accepted.
    package let secrets: SecretRing
    /// The authority that makes and reads the gateway's tokens.
    package let authority: TokenAuthority
    /// The keys that seal the store's records and the gateway's cookies.
    package let sealing: SealingKeyRing

    package init(_ secrets: SecretRing) {
        self.secrets = secrets
        self.authority = TokenAuthority(current: secrets.current, accepted: secrets.accepted)
        self.sealing = SealingKeyRing(current: secrets.current, accepted: secrets.accepted)
    }
}
