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
        guard let idToken = tokens.idToken else { return invalid("the answer of the token endpoint has none") }
        let subject: String
        let idClaims: JWTClaims
        switch await self.check(idToken, nonce: pending.nonce, accessToken: tokens.accessToken) {
        case .valid(let name, let claims): (subject, idClaims) = (name, claims)
        case .invalid(let fault): return invalid(fault.detail)
        case .unverified(let detail): return invalid(detail)
        case .unavailable(let detail): return .unavailable(detail: detail)
        }
        var claims = UserClaims([idClaims.value])
        if self.mapping.lacksTraits(claims), let endpoint = metadata.userinfoEndpoint {
            let userInfo = UserInfo(url: endpoint, proofs: self.proofs)
            switch await userInfo.ask(tokens.accessToken, type: tokens.tokenType, key: key) {
            case .claims(let document):
                guard document["sub"]?.string?.isExactly(subject) == true else {
                    return .refused(
                        BrowserRefusal(.invalidToken, detail: "userinfo: sub is missing or not that of the id_token")
                    )
                }
                claims.append(userInfo: document)
            case .refused(let detail): return .refused(BrowserRefusal(.providerError, detail: detail))
            case .unavailable(let detail): return .unavailable(detail: detail)
            }
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
