import JOSE
import Settings
package import Vocabulary

/// Checks the claims of a logout token with a valid signature (OpenID Connect Back-Channel Logout 1.0 2.6).
struct LogoutTokenCheck: Sendable {
    /// The maximum difference between the clocks of the issuer and the gateway.
    private static let leeway: Duration = .seconds(60)
    /// The maximum age. Issuers send a logout token at once, so an older one is rejected before its `exp`.
    private static let longestAge: Duration = .seconds(300)
    private static let event = "http://schemas.openid.net/event/backchannel-logout"
    /// The maximum length of `jti` and `sub` in bytes.
    private static let longestID = 512

    let issuer: String
    let clientID: String
    /// True if the issuer announces that its id_tokens have a `sid`.
    let namesSessions: Bool
    let now: UnixTime

    /// Returns the sessions that the token ends.
    ///
    /// - Throws: `JOSEError` of the first check that fails.
    func read(_ token: JWS) throws(JOSEError) -> LogoutToken {
        // Many issuers write no `typ`, or `JWT`. Any other value names another kind of token.
        let type = token.type?.lowercased()
        guard type == nil || type == "logout+jwt" || type == "application/logout+jwt" || type == "jwt" else {
            throw JOSEError("typ is not that of a logout token")
        }
        let claims = try JWTClaims(token.payload, loneSurrogates: .replaced)
        guard claims.issuer?.isExactly(self.issuer) == true else { throw JOSEError("iss is not the issuer") }
        guard claims.audience.contains(where: { $0.isExactly(self.clientID) }) else {
            throw JOSEError("aud is not the client")
        }
        guard let issuedAt = claims.issuedAt else { throw JOSEError("iat is missing") }
        guard issuedAt <= self.now.advanced(by: Self.leeway) else { throw JOSEError("iat is in the future") }
        let end = issuedAt.advanced(by: Self.longestAge)
        let expiresAt = min(claims.expiresAt ?? end, end).advanced(by: Self.leeway)
        guard self.now < expiresAt else { throw JOSEError("the token has expired") }
        if let notBefore = claims.notBefore, notBefore > self.now.advanced(by: Self.leeway) {
            throw JOSEError("nbf is in the future")
        }
        guard case .object? = claims["events"]?[Self.event] else {
            throw JOSEError("events does not name a back-channel logout")
        }
        // This rejects id_tokens that have `events` (Back-Channel Logout 1.0 2.4).
        guard claims["nonce"] == nil else { throw JOSEError("there is a nonce") }
        guard let id = claims.id else { throw JOSEError("jti is missing") }
        // Some providers write an empty `sid` if they know no session.
        let sessionID = claims.sessionID.flatMap { $0.isEmpty ? nil : $0 }
        guard claims.subject != nil || sessionID != nil else { throw JOSEError("there is neither sub nor sid") }
        let names: [(String?, Int)] = [
            (id, Self.longestID), (claims.subject, Self.longestID),
            (sessionID, ProviderEvidence.longestSessionID),
        ]
        for (text, longest) in names {
            guard text.map({ (1...longest).contains($0.utf8.count) }) != false else {
                throw JOSEError("jti, sub or sid is empty or too long")
            }
        }
        return LogoutToken(
            id: id,
            subject: claims.subject,
            sessionID: sessionID,
            namesEverySession: self.namesSessions,
            expiresAt: expiresAt
        )
    }
}

extension OpenIDProvider: LogoutProvider {
    package func logoutToken(_ token: Secret) async throws(NotDone) -> LogoutToken {
        let verified: JWS
        do throws(ProviderFault) {
            verified = try await self.issuer.verify(token.bytes, sharedSecret: self.settings.client.secret)
        } catch {
            throw error.notDone(.logoutInvalidToken)
        }
        let check = LogoutTokenCheck(
            issuer: self.name,
            clientID: self.client.clientID,
            namesSessions: self.issuer.metadata.known?.namesSessions ?? false,
            now: self.clock.now()
        )
        do throws(JOSEError) {
            return try check.read(verified)
        } catch {
            throw NotDone(.logoutInvalidToken, detail: error.detail)
        }
    }
}
