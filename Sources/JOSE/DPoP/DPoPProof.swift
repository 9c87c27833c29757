/// An accepted proof.
package struct DPoPProof: Sendable, Hashable {
    /// The client's key, as in `cnf.jkt` (RFC 7638, RFC 9449 6.1).
    package let thumbprint: String
    /// The scope in which `onceID` is unique.
    package var onceScope: String { "dpop " + self.thumbprint }
    /// A hash of the proof's `jti`. It must be presented to the store of ids, which refuses a second time, before the
    /// request counts as authenticated.
    package let onceID: String
    /// The epoch by which it was judged.
    package let epoch: UInt64
    /// How long every gateway might accept the proof again: the store must remember the id for so long.
    package let lifetime: Duration
    /// What the answer should bring in `DPoP-Nonce`; nil: the client has the present nonce.
    package let nextNonce: String?
}
