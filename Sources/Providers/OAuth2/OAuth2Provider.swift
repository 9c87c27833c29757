package import Calls
import JOSE
package import Sessions
package import Settings
package import Vocabulary

/// A provider of plain OAuth 2.0 (RFC 6749). There is no discovery and no id_token; userinfo identifies the user.
package struct OAuth2Provider: BrowserProvider, RefreshingProvider {
    private let settings: OAuth2Settings
    private let authorizationURL: EndpointURL
    private let userinfo: UserInfo
    private let tokens: ProviderTokenEndpoint
    private let mapping: ClaimsMapping
    private let admission: Admission
    private let request: ProviderAuthorizationRequest
    private let clock: Clock

    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: OAuth2Settings,
        transport: any CallTransport,
        clock: Clock
    ) throws(ProviderSetUpError) {
        let proofs = PossessionProofs(transport: transport, clock: clock)
        self.settings = settings
        self.clock = clock
        self.authorizationURL = try EndpointURL(settings.authorizationURL, of: "authorization_url")
        self.userinfo = UserInfo(url: try EndpointURL(settings.userinfoURL, of: "userinfo_url"), proofs: proofs)
        self.tokens = ProviderTokenEndpoint(
            url: try EndpointURL(settings.tokenURL, of: "token_url"),
            client: try ProviderClientAuthentication(settings.client, clock: clock),
            proofs: proofs
        )
        self.mapping = ClaimsMapping(settings.claims, names: settings.names)
        self.admission = Admission(settings.allow, settings.claims)
        self.request = ProviderAuthorizationRequest(
            provider: settings.name,
            clientID: settings.client.id,
            settings: settings.authorization,
            usesPKCE: settings.usesPKCE,
            isOpenID: false
        )
    }

    package var name: String { self.settings.name }

    package func demand(of wish: BrowserSignIn) -> SignInDemand { self.request.demand(of: wish) }

    package func begin(_ wish: BrowserSignIn) -> BrowserBeginning {
        self.request.make(wish, at: self.authorizationURL)
    }

    package func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser {
        try pending.check(isOf: self.name)
        let code = try Callback.code(parameters, of: pending, issuer: nil)
        let (answer, key) = try await self.tokens.redeem(code, pending, bindsTokens: false)
        let tokens = answer.kept(key: key, requested: self.settings.authorization.scopes, now: self.clock.now())
        let claims: UserClaims
        do throws(ProviderFault) {
            claims = try await self.claims(tokens, key)
        } catch {
            throw error.notDone(.signInProviderError)
        }
        let subject: String
        do throws(ClaimsError) {
            subject = try self.mapping.subject(claims)
        } catch {
            throw NotDone(.signInProviderError, detail: error.detail)
        }
        return ProvenUser(
            try self.admission.user(subject, claims, by: self.mapping, fallback: "oauth2", now: self.clock.now()),
            ProviderEvidence(provider: self.name, tokens: tokens)
        )
    }

    private func claims(_ tokens: ProviderTokenSet, _ key: SigningKey?) async throws(ProviderFault) -> UserClaims {
        switch try await self.userinfo.ask(tokens.accessToken, type: tokens.tokenType, key: key) {
        case .claims(let document): return UserClaims([document])
        // A signed answer cannot be verified, because plain OAuth 2.0 publishes no keys.
        case .token: throw ProviderFault("the userinfo endpoint's answer is not a JSON object")
        }
    }

    /// Returns `nil`, because plain OAuth 2.0 has no sign-out at the provider.
    package func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String? { nil }

    package func canAsk(with tokens: ProviderTokenSet) -> Bool { true }

    package func refresh(_ tokens: ProviderTokenSet, of user: Identity) async -> ProviderRefresh {
        guard tokens.refreshToken != nil else {
            return await self.asked(tokens, isWell: { true }) { () throws(ProviderFault) in
                self.outcome(try await self.claimsOfUser(tokens, nil), tokens, of: user)
            }
        }
        let refresh = TokenRefresh(self.tokens, scopes: self.settings.authorization.scopes, clock: self.clock)
        let (kept, key): (ProviderTokenSet, SigningKey?)
        do throws(TokenFault) {
            (_, kept, key) = try await refresh.run(tokens)
        } catch {
            return ProviderRefresh(error)
        }
        let news = await within(TokenRefresh.timeForClaims) { try? await self.claimsOfUser(kept, key) }
        guard let claims = news ?? nil else { return .refreshed(kept, authentication: nil) }
        return self.outcome(claims, kept, of: user)
    }

    /// Returns the claims of userinfo if they name a user. Otherwise, the answer may be an error with status 200.
    private func claimsOfUser(
        _ tokens: ProviderTokenSet,
        _ key: SigningKey?
    ) async throws(ProviderFault) -> UserClaims {
        let claims = try await self.claims(tokens, key)
        guard (try? self.mapping.subject(claims)) != nil else {
            throw ProviderFault("the userinfo endpoint's answer names no user")
        }
        return claims
    }

    /// Returns the result of a refresh with these tokens and claims.
    private func outcome(_ claims: UserClaims, _ kept: ProviderTokenSet, of user: Identity) -> ProviderRefresh {
        guard let subject = try? self.mapping.subject(claims), user.isCalled(subject) else {
            return .ended(detail: "userinfo has another subject after the refresh")
        }
        if let refusal = self.admission.refusal(claims) {
            return .ended(detail: "the user may not sign in any more: \(refusal)")
        }
        let authentication = try? self.mapping.authentication(
            subject,
            claims,
            fallback: "oauth2",
            now: self.clock.now()
        )
        return .refreshed(kept, authentication: authentication)
    }

    /// Does nothing, because the settings contain no revocation endpoint.
    package func revoke(_ tokens: ProviderTokenSet) async {}
}
