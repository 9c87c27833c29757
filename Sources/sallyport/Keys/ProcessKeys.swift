import Cryptography
import Sessions
import Vocabulary

/// What the secrets of `secret_file` are used as, derived once for the process.
struct ProcessKeys: Sendable {
    let secrets: SecretRing
    /// Makes and reads the gateway's tokens.
    let authority: TokenAuthority
    /// Seals records, and what browsers carry.
    let sealing: SealingKeyRing

    init(_ secrets: SecretRing) {
        self.secrets = secrets
        self.authority = TokenAuthority(current: secrets.current, accepted: secrets.accepted)
        self.sealing = SealingKeyRing(current: secrets.current, accepted: secrets.accepted)
    }
}
