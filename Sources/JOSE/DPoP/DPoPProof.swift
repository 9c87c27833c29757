/// A proof that passed all checks of `DPoPJudge`. It is accepted only if the store has not seen its id.
package struct DPoPProof: Sendable, Hashable {
    /// The thumbprint of the client's key, as in `cnf.jkt` (RFC 7638, RFC 9449 6.1).
    package let thumbprint: String
    /// The scope in which `onceID` is unique.
    package var onceScope: String { "dpop " + self.thumbprint }
    /// A hash of the proof's `jti`. The store accepts this id once.
    package let onceID: String
    /// The epoch in which the proof was judged.
    package let epoch: UInt64
    /// The time for which the store must remember the id, because a gateway might otherwise accept the proof again.
    package let lifetime: Duration
    /// The nonce for the answer's `DPoP-Nonce`; `nil` if the client has the current nonce.
    package let nextNonce: String?
}
