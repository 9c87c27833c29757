/// Why a token or key is not accepted.
package struct JOSEError: Error, Sendable, Hashable {
    /// What a caller may have to tell apart.
    package enum Kind: Sendable, Hashable {
        /// Not what the specifications or the settings allow: any other check.
        case invalid
        /// The signature or code is not that of the key.
        case signature
        /// No key of the set is the one that the header names. The issuer may have published it since.
        case unknownKey
        /// No known key has signed the token, and the issuer must not be asked now whether it has a new one.
        case unsought
        /// `iss` is another one, or missing.
        case issuer
        /// `aud` names others only, or is missing.
        case audience
        /// `exp` has passed.
        case expired
    }

    package var kind: Kind
    /// For logs: which check failed, never a part of the token.
    package var detail: String

    package init(_ detail: String, kind: Kind = .invalid) {
        self.kind = kind
        self.detail = detail
    }
}
