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

/// Why a proof needs a nonce.
package enum DPoPNonceNeed: Sendable, Hashable {
    /// There is none, and the caller requires one.
    case required
    /// Its nonce is too old, or of another server.
    case unusable
    /// There is none, and `iat` differs too much from the gateway's clock.
    case clock
}

extension DPoPNonceNeed: CustomStringConvertible {
    /// A sentence for developers.
    package var description: String {
        switch self {
        case .required: "The DPoP proof needs a nonce of this server."
        case .unusable: "The nonce in the DPoP proof is not accepted any more: use the one in DPoP-Nonce."
        case .clock:
            "The clock of the device differs from that of the server: with the nonce in DPoP-Nonce it does not matter."
        }
    }
}

/// Why a proof is refused.
package enum DPoPFault: Sendable, Hashable {
    /// There is no proof, and a token is bound to a key.
    case missing
    case several
    case tooLong
    /// It is no token in compact form, or its header is not accepted.
    case header(JOSEError)
    case type
    /// The key in the proof is not the one that the token is bound to.
    case otherKey
    /// The payload is no JSON object, or a claim is missing or of the wrong type.
    case claims
    case id
    case method
    case target
    /// `ath` is missing, or not the hash of the access token.
    case accessToken
    case signature
}

extension DPoPFault: CustomStringConvertible {
    /// A sentence for developers. It repeats nothing of the proof.
    package var description: String {
        switch self {
        case .missing: "The token is bound to a key: a DPoP proof is needed."
        case .several: "There must be exactly one DPoP proof."
        case .tooLong: "The DPoP proof is longer than \(DPoPJudge.longestProof) bytes."
        case .header(let error): "The DPoP proof cannot be read: \(error.detail)."
        case .type: "typ of the DPoP proof must be dpop+jwt."
        case .otherKey: "The DPoP proof is of another key than the token."
        case .claims: "The DPoP proof needs jti and htm and htu as text and iat as a number."
        case .id: "jti of the DPoP proof must have 1 to \(DPoPJudge.longestID) bytes."
        case .method: "htm of the DPoP proof is not the method of the request."
        case .target: "htu of the DPoP proof is not the URL of the request."
        case .accessToken: "ath of the DPoP proof is not the hash of the access token."
        case .signature: "The signature of the DPoP proof is wrong."
        }
    }
}
