/// An accepted proof.
package struct DPoPProof: Sendable, Hashable {
    /// The thumbprint of the client's key, as in `cnf.jkt` (RFC 7638, RFC 9449 6.1).
    package let thumbprint: String
    /// The scope in which `onceID` is unique.
    package var onceScope: String { "dpop " + self.thumbprint }
    /// A hash of the proof's `jti`. The store accepts this id once. The request is authenticated only after that.
    package let onceID: String
    /// The epoch in which the proof was judged.
    package let epoch: UInt64
    /// The time for which some gateway might accept the proof again. The store must remember the id for this time.
    package let lifetime: Duration
    /// The nonce for the answer's `DPoP-Nonce`; `nil` if the client has the current nonce.
    package let nextNonce: String?
}
