package import Calls
import JOSE
package import Settings
package import Vocabulary

/// Verifies Google's id_tokens.
///
/// `aud` is the web client id that the app requested. `azp` is the client id of the app itself.
package struct GoogleVerifier: SocialVerifier {
    /// The maximum difference between the clocks of Google and the gateway.
    private static let leeway: Duration = .seconds(60)

    private let settings: GoogleSettings
    private let keys: SocialKeys
    private let clock: Clock
    private let account = SocialAccount(kind: .google)

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: GoogleSettings,
        transport: any CallTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        let url = try EndpointURL(settings.keysURL, of: "google.jwks_url")
        self.settings = settings
        self.keys = SocialKeys(url, transport: transport, clock: clock)
        self.clock = clock
    }

    package func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        do throws(ProviderFault) {
            let token = try await self.keys.verify(signIn.artefact)
            let now = self.clock.now()
            let (claims, end) = try self.claims(of: token, signIn, now: now)
            let user = try self.account.user(claims.subject ?? "", claims.value, signIn.profile, now: now)
            let artefact = self.account.artefact(
                SocialAccount.signedPart(of: signIn.artefact),
                of: claims.issuer ?? "",
                from: claims.issuedAt,
                until: end,
                now: now
            )
            let stated = SocialClaims(
                issuer: claims.issuer ?? "",
                subject: claims.subject ?? "",
                claims: claims.value
            )
            return SocialProof(user, artefact, stated: stated)
        } catch {
            throw error.notDone(.socialRefused, of: "id_token", at: "Google")
        }
    }

    /// Returns the verified claims (OpenID Connect Core 3.1.3.7), and the expiry of the token with the leeway.
    private func claims(
        of token: JWS,
        _ signIn: SocialSignIn,
        now: UnixTime
    ) throws(ProviderFault) -> (JWTClaims, end: UnixTime) {
        if let type = token.type, IDTokenCheck.isOfAnotherKind(type) {
            throw ProviderFault("typ is that of another kind of token")
        }
        let claims: JWTClaims
        do throws(JOSEError) {
            claims = try JWTClaims(token.payload, loneSurrogates: .replaced)
            try claims.checkTimes(now: now, leeway: Self.leeway)
        } catch {
            throw ProviderFault(error.detail)
        }
        guard claims.issuer.map({ $0.isExactlyOne(of: self.settings.issuers) }) == true else {
            throw ProviderFault("iss is not Google", isForeign: true)
        }
        // A token that is also for another service may come from that service, so every audience must be known.
        guard !claims.audience.isEmpty,
            claims.audience.allSatisfy({ $0.isExactlyOne(of: self.settings.audiences) })
        else { throw ProviderFault("aud is not in audiences", isForeign: true) }
        if let party = claims["azp"] {
            let parties = self.settings.audiences + self.settings.authorizedParties
            guard party.string?.isExactlyOne(of: parties) == true else {
                throw ProviderFault("azp is neither in audiences nor in authorized_parties", isForeign: true)
            }
        }
        guard claims.issuedAt != nil, let end = claims.expiresAt else { throw ProviderFault("iat is missing") }
        if let nonce = signIn.nonce {
            guard claims.nonce?.isExactly(nonce) == true else {
                throw ProviderFault("nonce is missing, or not the one that was sent")
            }
        } else if signIn.isNonceCompared, claims.nonce != nil {
            throw ProviderFault("it has a nonce, but the app sent none")
        }
        return (claims, end.advanced(by: Self.leeway))
    }
}
