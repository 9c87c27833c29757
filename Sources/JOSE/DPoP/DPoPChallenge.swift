import Vocabulary

/// The values of `WWW-Authenticate` that request proofs (RFC 9449 7.1 and 9).
///
/// SDKs look for `error` in the first parameter of the only challenge. An answer with an error must therefore have this
/// challenge alone.
package enum DPoPChallenge {
    /// The algorithms that proofs may have, joined by spaces.
    private static let algorithms = DPoPJudge.algorithms.map(\.rawValue).joined(separator: " ")

    /// The value for a request without credentials. It has no error code (RFC 6750 3.1).
    package static var anyScheme: String { #"\#(Refusal.Challenge.anyBearer), DPoP algs="\#(self.algorithms)""# }

    /// Returns the value for a rejected request.
    package static func text(_ refusal: DPoPRefusal) -> String {
        // Clients split at commas, and the message of a `JOSEError` may contain commas.
        let description = refusal.description.filter { $0 != "," }
        return #"DPoP error="\#(refusal.error)", error_description="\#(description)", algs="\#(self.algorithms)""#
    }
}
