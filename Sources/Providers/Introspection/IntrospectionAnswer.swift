import JOSE
import Vocabulary

/// The answer of an introspection endpoint (RFC 7662 2.2), read and judged.
struct IntrospectionAnswer: Sendable {
    /// How long an answer is used at most. A token that is revoked at the provider is accepted for as long.
    static let verdictLifetime = Duration.seconds(30)
    /// How long a session is kept of a token whose end the provider does not state. It is asked again all the time.
    private static let usualLifetime = Duration.seconds(86_400)

    let demands: AccessTokenClaims.Demands
    let mapping: ClaimsMapping

    /// The verdict in an answer. One that RFC 7662 does not know says nothing about the token: the provider is
    /// unavailable.
    func verdict(_ answer: ProviderAnswer, now: UnixTime) -> TokenVerdict {
        // 401 and 403 say that the gateway's own credentials are not accepted (RFC 7662 2.3).
        guard answer.status == 200, case .object(let members) = JSONText.decode(answer.body),
            case .bool(let isActive) = members["active"]
        else { return .unavailable }
        // Some providers write null for what they do not know.
        let stated = members.filter { $0.value != .null }
        guard isActive, Self.isBearerToken(stated), stated["sub"] != nil,
            let claims = try? JWTClaims(JSONText.encode(.object(stated)))
        else { return .unknown(.credentialInvalidToken) }
        let access = AccessTokenClaims(claims: claims, mapping: self.mapping)
        do throws(Reason) {
            try access.check(self.demands, now: now)
        } catch {
            return .unknown(error)
        }
        let end = claims.expiresAt ?? now.advanced(by: Self.usualLifetime)
        // The provider's clock has no leeway: it says when its own token ends.
        guard end > now else { return .unknown(.credentialExpired) }
        guard let known = try? access.known(expiresAt: end, cacheLifetime: Self.verdictLifetime, now: now) else {
            return .unknown(.credentialInvalidToken)
        }
        return .known(known)
    }

    /// Whether it is an access token that the bearer may use: neither bound to a key (RFC 9449 6.2) nor, as some
    /// providers tell, a refresh token.
    private static func isBearerToken(_ members: [String: JSONValue]) -> Bool {
        if let type = members["token_type"] {
            guard let text = type.string?.lowercased(), text == "bearer" || text == "access_token" else { return false }
        }
        guard let use = members["token_use"] else { return true }
        return use == "access_token" || use == "access"
    }
}
