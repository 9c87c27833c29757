package import Vocabulary

/// Why a request is refused for its proof, or for the want of one (RFC 9449 5 and 7).
package struct DPoPRefusal: Error, Sendable, Hashable {
    package let reason: Reason
    /// The error code at a resource. The token endpoint has codes of its own for tokens.
    package let error: String
    /// A sentence for developers, without quotes and backslashes. It repeats nothing of the request.
    package let description: String
    /// What the answer brings in `DPoP-Nonce`: the client repeats the request with a proof that holds it.
    package let nonce: String?

    private init(_ reason: Reason, _ error: String, _ description: String, nonce: String? = nil) {
        self.reason = reason
        self.error = error
        self.description = description
        self.nonce = nonce
    }

    /// A token that is bound to a key came as `Bearer` (RFC 9449 7.2).
    package static let bound = DPoPRefusal(
        .credentialBoundToKey,
        "invalid_token",
        "The access token is bound to a key: it needs the scheme DPoP and a proof."
    )
    /// A token that is bound to no key came as `DPoP`.
    package static let notBound = DPoPRefusal(
        .credentialNotBound,
        "invalid_token",
        "The access token is not bound to a key: it needs the scheme Bearer."
    )
    /// The proof was presented before (RFC 9449 11.1).
    package static let replayed = DPoPRefusal(
        .proofReplayed,
        "invalid_dpop_proof",
        "The DPoP proof was used before: each request needs a new one."
    )

    /// A proof that is not accepted.
    package init(_ fault: DPoPFault) {
        switch fault {
        case .missing: self.init(.proofMissing, "invalid_dpop_proof", fault.description)
        // The proof is good in itself: the token is refused (RFC 9449 7.1).
        case .otherKey: self.init(.proofOtherKey, "invalid_token", fault.description)
        default: self.init(.proofInvalid, "invalid_dpop_proof", fault.description)
        }
    }

    /// A proof that must be repeated with a nonce (RFC 9449 8 and 9).
    package init(_ need: DPoPNonceNeed, nonce: String) {
        self.init(.proofNonceNeeded, "use_dpop_nonce", need.description, nonce: nonce)
    }
}
