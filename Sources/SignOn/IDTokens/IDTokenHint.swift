package import JOSE

/// An id_token that a client sends back to identify a request's user and client (OpenID Connect Core 3.1.2.1,
/// RP-Initiated Logout 1.0 2).
package struct IDTokenHint: Sendable, Equatable {
    package let clientID: String
    package let subject: String

    /// Verifies `token`. `nil` if it is not an id_token of `issuer`. A logout token is rejected, although the same key
    /// signs it. An expired id_token is accepted, because users sign out long after sign-in.
    ///
    /// - Parameter keys: The public keys of the issuer's id_tokens.
    package init?(_ token: String, issuer: String, keys: JWKSet) {
        guard let verified = try? JWS.verify(Array(token.utf8), with: keys, allowing: [.rs256]),
            !verified.isType("logout+jwt"), let claims = try? JWTClaims(verified.payload), claims.issuer == issuer,
            claims.audience.count == 1, let subject = claims.subject
        else { return nil }
        self.clientID = claims.audience[0]
        self.subject = subject
    }
}
