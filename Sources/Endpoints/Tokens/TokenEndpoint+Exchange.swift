import Providers
import Sessions
import Settings
import SignOn
import Vocabulary

/// `grant_type=urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693).
extension TokenEndpoint {
    func exchange(
        _ parameters: TokenRequest,
        _ requester: TokenRequester,
        _ signer: IDTokenIssuer.Signer
    ) async throws(OAuthError) -> EndpointResponse {
        if let kind = SocialSubjectToken(rawValue: try parameters.required("subject_token_type")) {
            return try await self.exchange(kind, parameters, requester, signer)
        }
        let exchange: TokenExchange
        do {
            exchange = try TokenExchange(
                parameters,
                of: requester.client,
                targets: self.targets,
                apis: self.tokens.apis
            )
        } catch {
            if error.reason == .oauthInvalidTarget { self.tokens.refuse(.exchanged, error.reason, by: requester) }
            throw error
        }
        switch exchange.target {
        case .transfer(_, let target):
            let parent = try await self.parent(exchange.subjectToken, requester)
            var actor: Secret?
            if let token = exchange.actorToken { actor = try await self.parent(token, requester) }
            let minted = try await self.mint(.token(parent.bytes), actor: actor, target, requester)
            return await TokenAnswer.minted(minted, besides: nil, signer)
        case .access(let api, let scopes):
            let token = exchange.subjectToken
            let tokens = try await OAuthError.rendering(
                try await self.tokens.exchange(token, for: api, scopes: scopes, by: requester)
            )
            return await TokenAnswer.issued(tokens, signer, type: TokenExchange.accessTokenType)
        }
    }

    /// Returns the token to mint from: `presented`, or an access token in exchange for a provider's token.
    private func parent(_ presented: Secret, _ requester: TokenRequester) async throws(OAuthError) -> Secret {
        guard requester.client.canCreateTransferToken, self.tokens.isForeign(presented) else { return presented }
        let tokens = try await OAuthError.rendering(
            try await self.tokens.exchange(presented, for: nil, scopes: [], forTransfer: true, by: requester)
        )
        return tokens.access ?? presented
    }

    /// Signs a user in with the artefact of a social provider's sign-in kit (Auth0's token exchange for native social).
    private func exchange(
        _ kind: SocialSubjectToken,
        _ parameters: TokenRequest,
        _ requester: TokenRequester,
        _ signer: IDTokenIssuer.Signer
    ) async throws(OAuthError) -> EndpointResponse {
        let artefact = Secret(try parameters.required("subject_token"))
        try TokenExchange.refuseActor(in: parameters)
        let audience = try parameters.audience()
        let api: APISettings?
        do throws(NotDone) {
            api = try self.tokens.apis.target(audience)
        } catch {
            self.tokens.refuse(.socialExchanged, error.reason, by: requester)
            throw OAuthError(error)
        }
        // Auth0: "If you don't request specific scopes, all scopes defined for the audience will be returned."
        let wanted = try parameters.scopes() ?? ["openid", "profile", "email"] + (api?.scopes ?? [])
        let scopes = APIDirectory.granted(wanted, of: api, to: requester.client, hasRefresh: true)
        let profile: SocialProfile?
        do {
            profile = try parameters.value("user_profile").map { (value) throws(SocialProfileError) in
                try SocialProfile(value)
            }
        } catch {
            throw .invalidRequest("The user_profile is malformed.")
        }
        let user = try await self.social.user(kind, artefact, profile, requester)
        let tokens = try await OAuthError.rendering(
            try await self.tokens.begin(user, for: api, scopes: scopes, by: requester),
            of: .socialToken
        )
        return await TokenAnswer.issued(tokens, signer, type: TokenExchange.accessTokenType)
    }

    func mint(
        _ parent: MintParent,
        actor: Secret? = nil,
        _ target: TransferTargets.Target,
        _ requester: TokenRequester
    ) async throws(OAuthError) -> MintedToken {
        try await OAuthError.rendering(
            try await self.mint.mint(parent, actor: actor?.bytes, host: target.host, for: requester)
        )
    }
}
