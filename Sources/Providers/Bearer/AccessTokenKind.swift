import Calls
import JOSE
import Vocabulary

/// Tells access tokens from other tokens of an issuer, which have the same keys. An id_token must not be accepted as an
/// access token (RFC 9068 4, RFC 8725 3.11): its client may pass it on to anyone.
///
/// - `typ: at+jwt` marks an access token (RFC 9068 2.1). Any other `typ` except `JWT` marks another kind.
/// - Without `typ` or with `JWT`, which most providers use, the claims decide:
///   - A claim with the kind decides alone (Keycloak's `typ`, Cognito's `token_use`).
///   - `nonce`, `at_hash`, `c_hash` and `s_hash` mark id_tokens, and `events` marks logout tokens.
///   - If `aud` lacks the gateway's client, the token is accepted: id_tokens have their client in `aud` (OpenID Connect
///     Core 2), and the accepted audiences are apps.
///   - If `aud` contains the gateway's client, the token needs a claim of access tokens: `scope`, `scp`, `client_id`
///     (`cid` at Okta, `appid` at Entra), or an `azp` that is not in `aud`.
struct AccessTokenKind: Sendable {
    /// The gateway's client at the issuer; `nil` if users cannot sign in there.
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
