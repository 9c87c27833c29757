import JOSE
import Sessions
package import SignOn
package import Vocabulary

/// Issues id_tokens, and verifies id_tokens that clients send back as `id_token_hint`.
package struct IDTokenIssuer: Sendable {
    private let keys: IDTokenSigning
    /// The issuer as in the metadata, with a slash at its end.
    package let issuer: String
    private let clock: Clock

    package init(keys: IDTokenSigning, issuer: String, clock: Clock) {
        self.keys = keys
        self.issuer = issuer
        self.clock = clock
    }

    /// Signs id_tokens with one key and one `iat`. A signer is requested before a grant is used up, so that a grant is
    /// not wasted if there is no key.
    struct Signer: Sendable {
        fileprivate let key: SigningKey
        fileprivate let issuer: String
        fileprivate let now: UnixTime

        func token(
            of session: Session,
            clientID: String,
            scopes: [String],
            nonce: String? = nil,
            accessToken: Secret? = nil
        ) async -> String {
            let token = IDToken(
                of: session,
                issuer: self.issuer,
                clientID: clientID,
                scopes: scopes,
                nonce: nonce,
                accessToken: accessToken,
                issuedAt: self.now
            )
            return await offLoop { token.signed(by: self.key) }
        }
    }

    /// Returns the id of the user in an `id_token_hint`. The hint only identifies a user, so it may have expired or
    /// belong to another client (OpenID Connect Core 3.1.2.1).
    ///
    /// - Throws: `invalid_request` if the hint is not an id_token of this server, `temporarily_unavailable` while the
    ///   keys are unknown.
    func subject(of hint: String) async throws(OAuthError) -> String {
        guard let keys = await self.keys.published() else { throw OAuthError(.storeUnavailable) }
        guard let token = IDTokenHint(hint, issuer: self.issuer, keys: keys) else {
            throw .invalidRequest("The id_token_hint is not an id_token of this server.")
        }
        return token.subject
    }

    /// Returns a signer with the current key. `nil` if there is no key. The answer is then 503.
    func signer() async -> Signer? {
        guard let key = try? await self.keys.signer() else { return nil }
        return Signer(key: key, issuer: self.issuer, now: self.clock.now())
    }
}
