package import Vocabulary

/// The reason to reject a request because its proof is invalid or missing (RFC 9449 5 and 7).
package struct DPoPRefusal: Error, Sendable, Hashable {
    package let reason: Reason
    /// The error code at a resource. The token endpoint derives its error code from `reason`.
    package let error: String
    /// A sentence for developers, without quotes or backslashes. It repeats no part of the request.
    package let description: String
    /// The nonce for the answer's `DPoP-Nonce`, with which the client retries; `nil` unless a nonce is requested.
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
        "The access token is bound to a key: send it with the scheme DPoP and a proof."
    )
    /// A token that is not bound to a key came as `DPoP`.
    package static let notBound = DPoPRefusal(
        .credentialNotBound,
        "invalid_token",
        "The access token is not bound to a key: send it with the scheme Bearer."
    )
    /// The proof was presented before (RFC 9449 11.1).
    package static let replayed = DPoPRefusal(
        .proofReplayed,
        "invalid_dpop_proof",
        "The DPoP proof was already used: create a new proof for each request."
    )

    // MARK: Proofs that are not accepted

    /// The token is bound to a key, and the proof is missing.
    package static let missing = DPoPRefusal(
        .proofMissing,
        "invalid_dpop_proof",
        "The token is bound to a key: send a DPoP proof."
    )
    /// The token is bound to another key than the proof's. The error code concerns the token (RFC 9449 7.1).
    package static let otherKey = DPoPRefusal(
        .proofOtherKey,
        "invalid_token",
        "The DPoP proof is signed with a different key than the one that the token is bound to."
    )
    package static let several = Self.invalid("Send exactly one DPoP proof.")
    package static let tooLong = Self.invalid("The DPoP proof is longer than \(DPoPJudge.longestProof) bytes.")
    package static let type = Self.invalid("typ of the DPoP proof must be dpop+jwt.")
    /// The payload is not a JSON object, or a claim is missing or of the wrong type.
    package static let claims = Self.invalid("The DPoP proof needs the strings jti and htm and htu and the number iat.")
    package static let id = Self.invalid("jti of the DPoP proof must have 1 to \(DPoPJudge.longestID) bytes.")
    package static let method = Self.invalid("htm of the DPoP proof is not the method of the request.")
    package static let target = Self.invalid("htu of the DPoP proof is not the URL of the request.")
    /// `ath` is missing, or not the hash of the access token.
    package static let accessToken = Self.invalid("ath of the DPoP proof is not the hash of the access token.")
    package static let signature = Self.invalid("The signature of the DPoP proof is invalid.")

    /// The proof is not a token in compact form, or its header is not accepted.
    package static func header(_ error: JOSEError) -> DPoPRefusal {
        Self.invalid("The DPoP proof cannot be read: \(error.detail).")
    }

    private static func invalid(_ description: String) -> DPoPRefusal {
        DPoPRefusal(.proofInvalid, "invalid_dpop_proof", description)
    }

    // MARK: Proofs that must be repeated with a nonce (RFC 9449 8 and 9)

    /// The proof has no nonce, and a nonce is required.
    package static func required(nonce: String) -> DPoPRefusal {
        Self.nonceNeeded("The DPoP proof needs a nonce from this server.", nonce)
    }

    /// The nonce is too old, from another epoch, or from another server.
    package static func unusable(nonce: String) -> DPoPRefusal {
        Self.nonceNeeded("The nonce in the DPoP proof is no longer accepted: use the nonce in DPoP-Nonce.", nonce)
    }

    /// The proof has no nonce, and `iat` differs too much from the gateway's clock.
    package static func clock(nonce: String) -> DPoPRefusal {
        let words = "The clocks of the device and the server differ"
        return Self.nonceNeeded("\(words): retry with the nonce in DPoP-Nonce.", nonce)
    }

    private static func nonceNeeded(_ description: String, _ nonce: String) -> DPoPRefusal {
        DPoPRefusal(.proofNonceNeeded, "use_dpop_nonce", description, nonce: nonce)
    }
}
