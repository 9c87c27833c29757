import JOSE
import Settings
package import Vocabulary

extension OpenIDProvider {
    package func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser {
        try pending.check(isOf: self.name)
        let metadata = try await self.metadata()
        let code = try Callback.code(
            parameters,
            of: pending,
            issuer: self.name,
            demandsIssuer: metadata.announcesIssuer
        )
        let (tokens, key) = try await self.endpoint(metadata).redeem(
            code,
            pending,
            bindsTokens: self.settings.usesDPoP
        )
        guard let idToken = tokens.idToken else {
            throw ProviderFault(
                "the answer of the token endpoint has none, or one of more than \(JOSELimits.token) bytes"
            ).notDone(.signInInvalidToken, of: "id_token")
        }
        let subject: String
        let idClaims: JWTClaims
        do throws(ProviderFault) {
            (subject, idClaims) = try await self.check(
                idToken,
                nonce: pending.nonce,
                accessToken: tokens.accessToken
            )
        } catch {
            throw error.notDone(.signInInvalidToken, of: "id_token")
        }
        var claims = try await self.claims(idClaims, of: subject, tokens, key, metadata)
        if self.answersByForm, let names = Self.postedNames(parameters) { claims.append(names) }
        let now = self.clock.now()
        return ProvenUser(
            try self.admission.user(subject, claims, by: self.mapping, fallback: "oidc", now: now),
            ProviderEvidence(
                provider: self.name,
                sessionID: idClaims.sessionID.flatMap {
                    $0.isPlain(upTo: ProviderEvidence.longestSessionID) ? $0 : nil
                },
                issuedAt: idClaims.issuedAt,
                tokens: tokens.kept(key: key, requested: self.settings.authorization.scopes, now: now)
            )
        )
    }

    /// Returns the names in the `user` member of a form answer, as claims; `nil` if there are none. Apple sends names
    /// only there, at the first sign-in. They are unsigned, so the provider's own claims take precedence. The email
    /// address is ignored.
    private static func postedNames(_ parameters: [(name: String, value: String)]) -> JSONValue? {
        parameters.first { $0.name == "user" }.flatMap { try? SocialProfile(.string($0.value)) }?.names
    }

    /// Returns the claims of the id_token and userinfo.
    private func claims(
        _ idClaims: JWTClaims,
        of subject: String,
        _ tokens: ProviderTokenAnswer,
        _ key: SigningKey?,
        _ metadata: ProviderMetadata
    ) async throws(NotDone) -> UserClaims {
        let completed = await self.completed(
            UserClaims([idClaims.value]),
            of: subject,
            tokens.accessToken,
            type: tokens.tokenType,
            key: key,
            metadata
        )
        switch completed {
        case .whole(let whole): return whole
        case .part(let part, let fault):
            guard self.settings.userinfo == .auto else { throw fault.notDone(.signInProviderError) }
            // If a missing claim could have admitted the user, the error is the provider's, not the user's.
            if let refusal = self.admission.refusal(part) {
                guard self.admission.certainRefusal(part) != nil else {
                    throw ProviderFault("\(fault.detail), and without it \(refusal)", isOutage: fault.isOutage)
                        .notDone(.signInProviderError)
                }
            } else {
                self.noteUserInfo(fault.detail)
            }
            return part
        case .foreign: throw NotDone(.signInInvalidToken, detail: "userinfo: sub is not that of the id_token")
        }
    }
}
