package import JOSE

/// An id_token that a client sends back to say which user and which client a request is about (OpenID Connect Core
/// 3.1.2.1, RP-Initiated Logout 1.0 2).
package struct IDTokenHint: Sendable, Equatable {
    package let clientID: String
    package let subject: String

    /// nil if it is no id_token of `issuer`. Its age does not count: users sign out long after they signed in.
    ///
    /// - Parameter keys: The public keys of the issuer's id_tokens.
    package init?(_ token: String, issuer: String, keys: JWKSet) {
        guard let verified = try? JWS.verify(Array(token.utf8), with: keys, allowing: [.rs256]),
            let claims = try? JWTClaims(verified.payload), claims.issuer == issuer, claims.audience.count == 1,
            let subject = claims.subject
        else { return nil }
        self.clientID = claims.audience[0]
        self.subject = subject
    }
}
