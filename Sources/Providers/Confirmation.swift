package import Cryptography
import Vocabulary

/// The proofs that a token's `cnf` claim requires of its presenter (RFC 7800 3.1). All of them are required.
package struct Confirmation: Sendable, Hashable {
    /// The thumbprint of the key that each request must prove (`jkt`, RFC 9449 6.1).
    package var keyThumbprint: String?
    /// The SHA-256 of the certificate that the client must use for TLS (`x5t#S256`, RFC 8705 3.1).
    package var certificateHash: Digest256?

    /// Reads the claim; `nil` if it contains a proof that the gateway cannot check.
    init?(_ claim: JSONValue) {
        guard let members = claim.members, !members.isEmpty else { return nil }
        for (name, value) in members {
            guard let text = value.string, let hash = Digest256(base64URL: Array(text.utf8)[...]) else { return nil }
            switch name {
            case "jkt": self.keyThumbprint = text
            case "x5t#S256": self.certificateHash = hash
            default: return nil
            }
        }
    }
}
