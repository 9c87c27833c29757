import Cryptography
import JOSE
import Settings
import Vocabulary

extension OpenIDProvider {
    package func refresh(_ tokens: ProviderTokenSet, of subject: String) async -> ProviderRefresh {
        guard let metadata = self.issuer.metadata.known else {
            Task { await self.issuer.metadata.current() }
            return .later(after: nil, detail: "the issuer is not known yet")
        }
        switch await TokenRefresh(self.endpoint(metadata)).run(tokens) {
        case .failed(let outcome): return outcome
        case .tokens(let answer, let key):
            let kept = answer.kept(
                key: key,
                requested: self.settings.authorization.scopes,
                previous: tokens,
                now: self.clock.now()
            )
            let news = await within(TokenRefresh.timeForClaims) {
                await self.news(answer, key, kept, previous: tokens.idToken, of: subject, metadata)
            }
            return self.outcome(news ?? .nothing(isSigned: false), kept, previous: tokens.idToken)
        }
    }

    /// What a refresh says about the user.
    private enum News: Sendable {
        /// - Parameter isSigned: Whether the id_token of the answer counts.
        case claims(UserClaims, isSigned: Bool)
        /// Nothing that can be relied on.
        case nothing(isSigned: Bool)
        /// The answer is for another user or client.
        case foreign(detail: String)
    }

    /// The old refresh token may be spent, so the new tokens are returned even where the claims cannot be had.
    private func outcome(_ news: News, _ kept: ProviderTokenSet, previous: Secret?) -> ProviderRefresh {
        var kept = kept
        switch news {
        case .foreign(let detail): return .ended(detail: detail)
        case .nothing(let isSigned):
            if !isSigned { kept.idToken = previous }
            return .refreshed(kept, authentication: nil)
        case .claims(let claims, let isSigned):
            if !isSigned { kept.idToken = previous }
            if let refusal = self.admission.refusal(claims) {
                return .ended(detail: "the user may not sign in any more: \(refusal)")
            }
            return .refreshed(kept, authentication: self.authentication(claims))
        }
    }

    private func news(
        _ answer: TokenAnswer,
        _ key: SigningKey?,
        _ kept: ProviderTokenSet,
        previous: Secret?,
        of subject: String,
        _ metadata: ProviderMetadata
    ) async -> News {
        var claims = UserClaims([])
        var isSigned = false
        if let idToken = answer.idToken {
            switch await self.check(idToken, nonce: nil, accessToken: answer.accessToken) {
            case .valid(let name, let idClaims):
                guard name.isExactly(subject) else { return .foreign(detail: "the refreshed id_token has another sub") }
                claims.append(idClaims.value)
                isSigned = true
            case .invalid(let fault) where fault.isForeign:
                return .foreign(detail: "the refreshed id_token: \(fault.detail)")
            case .invalid, .unverified, .unavailable: break
            }
        }
        if self.mapping.lacksTraits(claims), let endpoint = metadata.userinfoEndpoint {
            let userInfo = UserInfo(url: endpoint, proofs: self.proofs)
            guard case .claims(let document) = await userInfo.ask(kept.accessToken, type: kept.tokenType, key: key)
            else { return .nothing(isSigned: isSigned) }
            guard document["sub"]?.string?.isExactly(subject) == true else {
                return .foreign(detail: "userinfo has another sub after the refresh")
            }
            claims.append(userInfo: document)
        } else if !isSigned {
            return .nothing(isSigned: false)
        }
        claims.append(Self.howAuthenticated(previous))
        return .claims(claims, isSigned: isSigned)
    }

    private func authentication(_ claims: UserClaims) -> Authentication? {
        guard let subject = claims.text(at: "sub") else { return nil }
        return try? self.mapping.authentication(subject, claims, fallback: "oidc", now: self.clock.now())
    }

    /// What the id_token of the sign-in says about how and when the user authenticated: a refresh does not change it, and
    /// its id_token may leave it out (OpenID Connect Core 12.2). It was verified when it came.
    private static func howAuthenticated(_ idToken: Secret?) -> JSONValue {
        let parts = idToken?.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let payload = Base64URL.decoded(parts[1]),
            let members = JSONText.decode(payload)?.members
        else { return .object([:]) }
        return .object(members.filter { UserClaims.ofSignIn.contains($0.key) })
    }
}
