package import Calls
import JOSE
package import Settings
package import Vocabulary

/// An OpenID provider (OpenID Connect Core 1.0): code flow with PKCE, token refresh, and sign-out at the provider.
package struct OpenIDProvider: BrowserProvider, RefreshingProvider {
    /// The metadata and keys of the issuer, shared with the verification of access tokens.
    package let issuer: OpenIDIssuer
    let settings: OpenIDSettings
    let client: ProviderClientAuthentication
    let proofs: PossessionProofs
    let mapping: ClaimsMapping
    let admission: Admission
    let clock: Clock
    let noteUserInfo: @Sendable (String) -> Void
    let userInfoHistory = UserInfoHistory()
    private let request: ProviderAuthorizationRequest

    /// Creates the provider without a call to the issuer. `issuer.start()` or the first use fetches the metadata.
    ///
    /// - Parameters:
    ///   - issuer: The issuer of `settings`, if it exists already; `nil` to create it.
    ///   - noteUserInfo: Called with the reason if a sign-in or refresh continues without userinfo. The reason contains
    ///     no value of a claim.
    /// - Throws: `ProviderSetUpError` that names the setting.
    package init(
        _ settings: OpenIDSettings,
        issuer: OpenIDIssuer? = nil,
        transport: any CallTransport,
        clock: Clock,
        noteUserInfo: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ProviderSetUpError) {
        if let issuer {
            self.issuer = issuer
        } else {
            self.issuer = try OpenIDIssuer(settings, transport: transport, clock: clock)
        }
        self.settings = settings
        self.client = try ProviderClientAuthentication(settings.client, clock: clock)
        self.proofs = PossessionProofs(transport: transport, clock: clock)
        self.mapping = ClaimsMapping(settings.claims, names: settings.names)
        self.admission = Admission(settings.allow, settings.claims)
        self.clock = clock
        self.noteUserInfo = noteUserInfo
        var authorization = settings.authorization
        if !authorization.scopes.contains("openid") { authorization.scopes.insert("openid", at: 0) }
        self.request = ProviderAuthorizationRequest(
            provider: self.issuer.name,
            clientID: settings.client.id,
            settings: authorization,
            usesPKCE: true,
            isOpenID: true,
            answersByForm: settings.responseMode == .formPost
        )
    }

    package var name: String { self.issuer.name }

    package var answersByForm: Bool { self.settings.responseMode == .formPost }

    package func demand(of wish: BrowserSignIn) -> SignInDemand { self.request.demand(of: wish) }

    package func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning {
        self.request.make(wish, at: try await self.metadata().authorizationEndpoint)
    }

    /// Returns the issuer's metadata. Throws `provider.unavailable` if they are not known.
    func metadata() async throws(NotDone) -> ProviderMetadata {
        guard let metadata = await self.issuer.metadata.current() else {
            throw NotDone(.providerUnavailable, detail: self.issuer.outage)
        }
        return metadata
    }

    package func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String? {
        guard let endpoint = await self.issuer.metadata.current()?.endSessionEndpoint else { return nil }
        var parameters: [URLQuery.Parameter] = []
        // A longer hint exceeds the request line of many servers. Without it, `client_id` names the client.
        if let idToken, idToken.bytes.count <= 4096 {
            parameters.append(("id_token_hint", String(decoding: idToken.bytes, as: UTF8.self)))
        }
        parameters += [("client_id", self.client.clientID), ("post_logout_redirect_uri", returnTo)]
        if let state { parameters.append(("state", state)) }
        return URLQuery.appending(parameters, to: endpoint)
    }

    package func revoke(_ tokens: ProviderTokenSet) async {
        guard let metadata = await self.issuer.metadata.current(), let endpoint = metadata.revocationEndpoint else {
            return
        }
        let (token, hint) =
            tokens.refreshToken.map { ($0, "refresh_token") } ?? (tokens.accessToken, "access_token")
        var call = await self.client.post(
            [("token", String(decoding: token.bytes, as: UTF8.self)), ("token_type_hint", hint)],
            to: endpoint,
            audience: metadata.tokenEndpoint
        )
        call.purpose = .revocation
        _ = try? await self.proofs.transport.send(call)
    }

    func endpoint(_ metadata: ProviderMetadata) -> ProviderTokenEndpoint {
        ProviderTokenEndpoint(url: metadata.tokenEndpoint, client: self.client, proofs: self.proofs)
    }

    /// Verifies an id_token, and returns its subject and claims.
    func check(
        _ idToken: Secret,
        nonce: String?,
        accessToken: Secret
    ) async throws(ProviderFault) -> (subject: String, claims: JWTClaims) {
        let token = try await self.issuer.verify(idToken.bytes, sharedSecret: self.settings.client.secret)
        return try IDTokenCheck(
            issuer: self.name,
            clientID: self.client.clientID,
            now: self.clock.now(),
            nonce: nonce,
            accessToken: accessToken
        ).claims(of: token)
    }
}
