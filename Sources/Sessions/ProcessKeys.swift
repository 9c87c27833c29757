package import Cryptography
package import Vocabulary

/// The keys that are derived from the secrets of `secret_file`, once for the process.
package struct ProcessKeys: Sendable {
    /// The secrets themselves.
    package let secrets: SecretRing
    /// Makes and reads the gateway's tokens.
    package let authority: TokenAuthority
    /// Seals records, and what browsers carry.
    package let sealing: SealingKeyRing

    package init(_ secrets: SecretRing) {
        self.secrets = secrets
        self.authority = TokenAuthority(current: secrets.current, accepted: secrets.accepted)
        self.sealing = SealingKeyRing(current: secrets.current, accepted: secrets.accepted)
    }
}
