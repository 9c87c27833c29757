import Calls
import JOSE
import Vocabulary

/// Judges the answers of an introspection endpoint (RFC 7662 2.2).
struct IntrospectionAnswer: Sendable {
    /// The time for which an answer is used. A token that the provider revokes is accepted for up to this time.
    static let verdictLifetime = Duration.seconds(30)
    /// The lifetime of a session if the answer has no `exp`. The provider is asked again before that.
    private static let usualLifetime = Duration.seconds(86_400)

    let use: TokenUse
    let demands: AccessTokenClaims.Demands
    let mapping: ClaimsMapping
    /// The rule for who may sign in. Refresh tokens of other users are rejected.
    let admission: Admission

    /// Returns the verdict of an answer; `unavailable` if RFC 7662 does not define the answer.
    func verdict(_ answer: CallAnswer, now: UnixTime) -> TokenVerdict {
        // 401 and 403 reject the gateway's own credentials (RFC 7662 2.3).
        guard answer.status == 200, let members = answer.json()?.members,
            case .bool(let isActive) = members["active"]
        else { return .unavailable }
        guard isActive, self.use.isSaid(by: members), members["sub"] != nil,
            let claims = try? JWTClaims(answer.body, loneSurrogates: .replaced)
        else { return .unknown(.credentialInvalidToken) }
        let access = AccessTokenClaims(claims: claims, mapping: self.mapping)
        do throws(Reason) {
            try access.check(self.demands, now: now)
        } catch {
            return .unknown(error)
        }
        let end = claims.expiresAt ?? now.advanced(by: Self.usualLifetime)
        // No leeway, because the provider itself has just checked the token's expiry.
        guard end > now else { return .unknown(.credentialExpired) }
        let known = try? access.known(
            expiresAt: end,
            cacheLifetime: Self.verdictLifetime,
            admission: self.admission,
            now: now
        )
        guard let known else { return .unknown(.credentialInvalidToken) }
        return known.isAdmitted || self.use == .access ? .known(known) : .unknown(.signInNotAllowed)
    }
}

/// A kind of token, as in `token_type_hint` (RFC 7009 2.1). Providers may ignore this hint.
package enum TokenUse: String, Sendable {
    case access = "access_token"
    case refresh = "refresh_token"

    /// Returns whether the answer may be about a usable token of this kind: a bearer token, or a token with a key to
    /// prove (RFC 9449 6.2).
    ///
    /// RFC 7662 has no member for the kind. Providers use `token_use` (Hydra), `typ` (Keycloak) or `token_type`. An
    /// access token may lack the kind. A refresh token may not: otherwise, an API could sign in with the access token
    /// of its user.
    func isSaid(by members: [String: JSONValue]) -> Bool {
        let type = members["token_type"]
        switch self {
        case .access:
            if let type {
                switch type.string?.lowercased() {
                case "bearer", "access_token": break
                case "dpop": guard members["cnf"]?["jkt"] != nil else { return false }
                default: return false
                }
            }
            if let use = members["token_use"], use != "access_token", use != "access" { return false }
            return !Self.namesRefresh(members["typ"])
        case .refresh:
            var kinds = [members["token_use"], members["typ"]].compactMap(\.self)
            // `Bearer` says nothing about the kind.
            if let type, type.string?.lowercased() != "bearer" { kinds.append(type) }
            return !kinds.isEmpty && kinds.allSatisfy { Self.namesRefresh($0) }
        }
    }

    /// Returns whether this names a refresh token. Keycloak's `Offline` token is a refresh token.
    private static func namesRefresh(_ kind: JSONValue?) -> Bool {
        kind?.string.map { ["refresh_token", "refresh", "offline"].contains($0.lowercased()) } ?? false
    }
}
