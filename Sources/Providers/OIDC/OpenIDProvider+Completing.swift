import JOSE
import Settings
package import Vocabulary

extension OpenIDProvider {
    package func complete(_ parameters: [(name: String, value: String)], state: Secret) async -> BrowserCompletion {
        guard let pending = PendingSignIn(state), pending.provider.isExactly(self.name) else {
            return .refused(BrowserRefusal(.mismatch, detail: "the sign-in was not begun at this provider"))
        }
        guard let metadata = await self.issuer.metadata.current() else {
            return .unavailable(detail: self.issuer.outage)
        }
        let callback = Callback(
            parameters,
            pending: pending,
            issuer: self.name,
            demandsIssuer: metadata.announcesIssuer
        )
        switch callback {
        case .refused(let refusal): return .refused(refusal)
        case .unavailable(let detail): return .unavailable(detail: detail)
        case .code(let code):
            let exchange = CodeExchange(endpoint: self.endpoint(metadata), bindsTokens: self.settings.usesDPoP)
            switch await exchange.redeem(code, pending) {
            case .refused(let refusal): return .refused(refusal)
            case .unavailable(let detail): return .unavailable(detail: detail)
            case .tokens(let tokens, let key): return await self.finish(tokens, key, pending, metadata)
            }
        }
    }

    private func finish(
        _ tokens: TokenAnswer,
        _ key: SigningKey?,
        _ pending: PendingSignIn,
        _ metadata: ProviderMetadata
    ) async -> BrowserCompletion {
        func invalid(_ detail: String) -> BrowserCompletion {
            .refused(BrowserRefusal(.invalidToken, detail: "id_token: \(detail)"))
        }
        guard let idToken = tokens.idToken else {
            return invalid("the answer of the token endpoint has none, or one of more than \(JOSELimits.token) bytes")
        }
        let subject: String
        let idClaims: JWTClaims
        switch await self.check(idToken, nonce: pending.nonce, accessToken: tokens.accessToken) {
        case .valid(let name, let claims): (subject, idClaims) = (name, claims)
        case .invalid(let fault): return invalid(fault.detail)
        case .unverified(let detail): return invalid(detail)
        case .unavailable(let detail): return .unavailable(detail: detail)
        }
        let claims: UserClaims
        let completed = await self.completed(
            UserClaims([idClaims.value]),
            of: subject,
            tokens.accessToken,
            type: tokens.tokenType,
            key: key,
            metadata
        )
        switch completed {
        case .whole(let whole): claims = whole
        case .part(let part, let fault):
            guard self.settings.userinfo == .auto else { return fault.completion() }
            // The provider, and not the user, is why a claim is missing.
            if let refusal = self.admission.refusal(part) {
                guard self.admission.certainRefusal(part) != nil else { return fault.completion(refusal) }
            } else {
                self.noteUserInfo(fault.detail)
            }
            claims = part
        case .foreign:
            return .refused(BrowserRefusal(.invalidToken, detail: "userinfo: sub is not that of the id_token"))
        }
        return SignInJudge(mapping: self.mapping, admission: self.admission, method: "oidc").judge(
            subject,
            claims,
            evidence: ProviderEvidence(
                provider: self.name,
                sessionID: idClaims.sessionID.flatMap {
                    $0.isPlain(upTo: ProviderEvidence.longestSessionID) ? $0 : nil
                },
                tokens: tokens.kept(key: key, requested: self.settings.authorization.scopes, now: self.clock.now())
            ),
            now: self.clock.now()
        )
    }
}
