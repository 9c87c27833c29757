package import Calls
import JOSE
package import Settings
package import Vocabulary

/// Verifies the id_tokens that Apple's sign-in kit gives to native apps. Apple does not make them single-use, so the
/// caller must record that a token was presented.
package struct AppleIDTokenVerifier: SocialVerifier {
    /// The maximum difference between the clocks of Apple and the gateway.
    private static let leeway: Duration = .seconds(60)

    private let settings: AppleSettings
    private let keys: SocialKeys
    private let clock: Clock
    private let account = SocialAccount(kind: .apple)

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: AppleSettings,
        transport: any CallTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        self.settings = settings
        self.keys = SocialKeys(
            try EndpointURL(settings.keysURL, of: "apple.jwks_url"),
            transport: transport,
            clock: clock
        )
        self.clock = clock
    }

    package func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
        do throws(ProviderFault) {
            return try self.proof(try await self.keys.verify(signIn.artefact), signIn)
        } catch {
            throw error.notDone(.socialRefused, of: "Apple's id_token", at: "Apple")
        }
    }

    private func proof(_ token: JWS, _ signIn: SocialSignIn) throws(ProviderFault) -> SocialProof {
        let now = self.clock.now()
        let stated: JWTClaims
        do throws(JOSEError) {
            stated = try JWTClaims(token.payload, loneSurrogates: .replaced)
        } catch {
            throw ProviderFault(error.detail)
        }
        // A token that is also for another service may come from that service, so every audience must be known.
        guard let bundleID = stated.audience.first,
            stated.audience.allSatisfy({ $0.isExactlyOne(of: self.settings.bundleIDs) })
        else { throw ProviderFault("aud is not in native_social.apple.bundle_ids", isForeign: true) }
        let check = IDTokenCheck(issuer: self.settings.issuer, clientID: bundleID, now: now, nonce: signIn.nonce)
        let (subject, claims) = try check.claims(of: token)
        // If the app sent no nonce, the token must have none, and the device support none (`nonce_supported`).
        guard signIn.nonce != nil || claims.nonce == nil && claims["nonce_supported"] != .bool(true) else {
            throw ProviderFault("it has or supports a nonce, but the app sent none")
        }
        guard let end = claims.expiresAt else { throw ProviderFault("exp is missing") }
        return SocialProof(
            try self.account.user(subject, claims.value, signIn.profile, now: now),
            self.account.artefact(
                SocialAccount.signedPart(of: signIn.artefact),
                of: "\(bundleID) id_token",
                from: claims.issuedAt,
                until: end.advanced(by: Self.leeway),
                now: now
            ),
            stated: SocialClaims(issuer: self.settings.issuer, subject: subject, claims: claims.value)
        )
    }
}
