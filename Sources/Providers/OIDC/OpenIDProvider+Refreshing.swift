import Cryptography
import JOSE
package import Sessions
import Settings
import Vocabulary

extension OpenIDProvider {
    package func canAsk(with tokens: ProviderTokenSet) -> Bool {
        tokens.refreshToken != nil
            || (self.settings.userinfo != .off && self.issuer.metadata.known?.userinfoEndpoint != nil)
    }

    package func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh {
        let former = Self.claims(of: tokens.idToken)?["sub"]?.string
        let subject = former.flatMap { user.isCalled($0) ? $0 : nil } ?? user.idAtProvider
        guard let metadata = self.issuer.metadata.known else {
            Task { await self.issuer.metadata.current() }
            return .later(after: nil, detail: "the issuer is not known yet")
        }
        guard tokens.refreshToken != nil else {
            return await self.asked(tokens, isWell: { await self.believesRefusal(of: tokens) }) {
                () throws(ProviderFault) in
                try await self.userInfo(with: tokens, of: subject, metadata)
            }
        }
        let endpoint = self.endpoint(metadata)
        let refresh = TokenRefresh(endpoint, scopes: self.settings.authorization.scopes, clock: self.clock)
        let (answer, kept, key): (ProviderTokenAnswer, ProviderTokenSet, SigningKey?)
        do throws(TokenFault) {
            (answer, kept, key) = try await refresh.run(tokens)
        } catch {
            return ProviderRefresh(error)
        }
        let news = await within(TokenRefresh.timeForClaims) {
            await self.news(answer, key, kept, previous: tokens.idToken, of: subject, metadata)
        }
        return self.outcome(news ?? .nothing(isSigned: false), kept, previous: tokens.idToken)
    }

    /// Returns whether a rejection of the access token by userinfo means that the provider revoked it. It does not if
    /// the token's lifetime is unknown, if userinfo has never accepted a token of this client (for example because the
    /// tokens are for an API, `resource`), or if the provider does not answer other requests.
    private func believesRefusal(of tokens: ProviderTokenSet) async -> Bool {
        guard tokens.expiresAt != nil, self.userInfoHistory.isAccepted else { return false }
        return await self.issuer.metadata.canBeRead()
    }

    /// Asks userinfo about the user with the access token. The tokens stay the same.
    private func userInfo(
        with tokens: ProviderTokenSet,
        of subject: String,
        _ metadata: ProviderMetadata
    ) async throws(ProviderFault) -> ProviderRefresh {
        let key: SigningKey?
        do throws(JOSEError) {
            key = try tokens.signingKey()
        } catch {
            throw ProviderFault("the key of the tokens cannot be used: \(error.detail)")
        }
        let completed = await self.completed(
            UserClaims([]),
            of: subject,
            tokens.accessToken,
            type: tokens.tokenType,
            key: key,
            isAsked: true,
            within: TokenRefresh.timeForUserInfo,
            metadata
        )
        switch completed {
        case .foreign: throw ProviderFault("userinfo has another sub", isForeign: true)
        case .part(_, let fault): throw fault
        case .whole(var whole):
            // Userinfo has no claims about the sign-in, and may lack other claims of the id_token.
            if let former = Self.claims(of: tokens.idToken) { whole.append(.object(former)) }
            return self.outcome(.claims(whole, isSigned: false), tokens, previous: tokens.idToken)
        }
    }

    /// The user's claims after a refresh.
    private enum News: Sendable {
        /// - Parameter isSigned: True if there is a new, valid id_token.
        case claims(UserClaims, isSigned: Bool)
        /// The claims of the new id_token. Userinfo gave no usable answer.
        case part(UserClaims)
        /// There are no claims to apply.
        case nothing(isSigned: Bool)
        /// The answer is about another user or for another client.
        case foreign(detail: String)
    }

    /// Returns the result of a refresh. Unless it is `ended`, it contains the new tokens, because the former ones may
    /// be used up.
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
        case .part(let claims):
            if let refusal = self.admission.certainRefusal(claims) {
                return .ended(detail: "the user may not sign in any more: \(refusal)")
            }
            guard let authentication = self.authentication(claims), authentication.identity.traits != [:] else {
                return .refreshed(kept, authentication: nil)
            }
            return .refreshedInPart(kept, authentication: authentication)
        }
    }

    private func news(
        _ answer: ProviderTokenAnswer,
        _ key: SigningKey?,
        _ kept: ProviderTokenSet,
        previous: Secret?,
        of subject: String,
        _ metadata: ProviderMetadata
    ) async -> News {
        var claims = UserClaims([])
        var isSigned = false
        if let idToken = answer.idToken {
            do throws(ProviderFault) {
                let (name, idClaims) = try await self.check(idToken, nonce: nil, accessToken: answer.accessToken)
                guard name.isExactly(subject) else { return .foreign(detail: "the refreshed id_token has another sub") }
                claims.append(idClaims.value)
                isSigned = true
            } catch {
                if error.isForeign { return .foreign(detail: "the refreshed id_token: \(error.detail)") }
            }
        }
        let completed = await self.completed(
            claims,
            of: subject,
            kept.accessToken,
            type: kept.tokenType,
            key: key,
            within: TokenRefresh.timeForUserInfo,
            metadata
        )
        switch completed {
        case .foreign: return .foreign(detail: "userinfo has another sub after the refresh")
        case .part(let part, let fault):
            guard self.settings.userinfo == .auto else { return .nothing(isSigned: isSigned) }
            self.noteUserInfo(fault.detail)
            return isSigned ? .part(part) : .nothing(isSigned: false)
        case .whole(var whole):
            guard isSigned || whole.text(at: "sub") != nil, let former = Self.claims(of: previous) else {
                return .nothing(isSigned: isSigned)
            }
            // Without a new id_token (OpenID Connect Core 12.2), the former claims apply if userinfo lacks them.
            whole.append(.object(isSigned ? former.filter { UserClaims.ofSignIn.contains($0.key) } : former))
            return .claims(whole, isSigned: isSigned)
        }
    }

    private func authentication(_ claims: UserClaims) -> Authentication? {
        guard let subject = claims.text(at: "sub") else { return nil }
        return try? self.mapping.authentication(subject, claims, fallback: "oidc", now: self.clock.now())
    }

    /// Returns the claims of the last verified id_token; `nil` if there is none. They tell how and when the user signed
    /// in, which an id_token of a refresh may omit (OpenID Connect Core 12.2).
    private static func claims(of idToken: Secret?) -> [String: JSONValue]? {
        let parts = idToken?.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, let payload = Base64URL.decoded(parts[1]) else { return nil }
        return JSONText.decode(payload, loneSurrogates: .replaced)?.members
    }
}
