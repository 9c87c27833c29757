import Calls
import JOSE
import Vocabulary

/// Distinguishes access tokens from other tokens that the issuer signs with its keys. An id_token must never pass as an
/// access token (RFC 9068 4, RFC 8725 3.11): a client gets it, and may pass it on to anyone.
///
/// - `typ: at+jwt` marks an access token (RFC 9068 2.1). Any other `typ` except `JWT` marks another kind.
/// - Most providers write `JWT` or nothing. Then the claims decide:
///   - If a provider states the kind in a claim (Keycloak's `typ`, Cognito's `token_use`), this claim decides.
///   - Tokens with `nonce`, `at_hash`, `c_hash` or `s_hash` (id_tokens) or `events` (logout tokens) are rejected.
///   - If `aud` lacks the gateway's own client, the token is not an id_token for this client (OpenID Connect Core 2).
///     The accepted audiences are apps, so the token is not an id_token for another client either.
///   - If `aud` contains the gateway's own client, the token must have a claim that only access tokens have: `scope`,
///     `scp`, `client_id` (`cid` at Okta, `appid` at Entra), or an `azp` that is not in `aud`.
struct AccessTokenKind: Sendable {
    /// The client that users sign in with. `nil` if users cannot sign in.
    let clientID: String?

    func accepts(_ token: JWS, _ claims: JWTClaims) -> Bool {
        if token.isType("at+jwt") { return true }
        guard token.type == nil || token.isType("JWT") else { return false }
        if let stated = claims["typ"]?.string?.lowercased(), stated != "jwt" {
            return stated == "bearer" || stated == "at+jwt"
        }
        if let use = claims["token_use"] { return use == "access" }
        guard !Self.foreignClaims.contains(where: { claims[$0] != nil }) else { return false }
        guard let clientID, claims.audience.contains(where: { $0.isExactly(clientID) }) else { return true }
        if Self.ownClaims.contains(where: { claims[$0] != nil }) { return true }
        guard let party = claims["azp"]?.string else { return false }
        return !claims.audience.contains { $0.isExactly(party) }
    }

    private static let foreignClaims = ["nonce", "at_hash", "c_hash", "s_hash", "events"]
    private static let ownClaims = ["scope", "scp", "client_id", "cid", "appid"]
}
