/// The reason why a token or key is not accepted.
package struct JOSEError: Error, Sendable, Hashable {
    /// The reasons that callers may need to distinguish.
    package enum Kind: Sendable, Hashable {
        /// Any other reason: the specifications or the settings forbid the token or key.
        case invalid
        /// The key did not make the signature or HMAC.
        case signature
        /// No key of the set has the header's `kid`, if it has one, and fits its `alg`. The issuer may have a new key.
        case unknownKey
        /// No known key has signed the token. The key may be new, but the issuer cannot be asked for it now.
        case keyFetchDenied
        /// `iss` names another issuer, or is missing.
        case issuer
        /// `aud` names only other audiences, or is missing.
        case audience
        /// `exp` has passed.
        case expired
    }

    package var kind: Kind
    /// The failed check, for logs. It contains no part of the token except the name of its algorithm.
    package var detail: String

    package init(_ detail: String, kind: Kind = .invalid) {
        self.kind = kind
        self.detail = detail
    }
}
