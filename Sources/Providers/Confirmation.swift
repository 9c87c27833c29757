package import Cryptography
import Vocabulary

/// The proofs that the presenter of a token must give (`cnf`, RFC 7800 3.1). Each proof that is set is required.
package struct Confirmation: Sendable, Hashable {
    /// The thumbprint of a key, proven with each request (`jkt`, RFC 9449 6.1).
    package var keyThumbprint: String?
    /// The SHA-256 of a client's certificate, proven in the TLS handshake (`x5t#S256`, RFC 8705 3.1).
    package var certificateHash: Digest256?

    /// Reads the claim. `nil` if the gateway cannot check all of it.
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
