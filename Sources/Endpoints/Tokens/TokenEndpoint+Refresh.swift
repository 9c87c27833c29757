import Sessions
import Settings
import SignOn
import Vocabulary

/// `grant_type=refresh_token` (RFC 6749 6).
extension TokenEndpoint {
    func refresh(
        _ parameters: TokenRequest,
        _ requester: TokenRequester,
        _ signer: IDTokenIssuer.Signer
    ) async throws(OAuthError) -> EndpointResponse {
        let token = Secret(try parameters.required("refresh_token"))
        let audience = try parameters.audience()
        if let audience, let target = self.targets[audience] {
            return try await self.transfer(token, audience, target, requester, signer)
        }
        let wish = RefreshWish.access(audience: audience, scopes: try parameters.scopes())
        let tokens = try await OAuthError.rendering(
            try await self.tokens.refresh(token, wish, for: requester),
            of: .refreshToken
        )
        return await TokenAnswer.issued(tokens, signer)
    }

    /// Mints a session-transfer token from a refresh token. A refresh token of the gateway rotates as in any other use.
    /// A provider's refresh token does not change.
    private func transfer(
        _ token: Secret,
        _ audience: String,
        _ target: TransferTargets.Target,
        _ requester: TokenRequester,
        _ signer: IDTokenIssuer.Signer
    ) async throws(OAuthError) -> EndpointResponse {
        // Checked before the refresh token rotates, so that a rejected client keeps its token.
        guard requester.client.canCreateTransferToken else {
            self.tokens.refuse(.refreshed, .handoffNotPermitted, by: requester)
            throw OAuthError(.handoffNotPermitted)
        }
        if self.tokens.isForeign(refreshToken: token) {
            var tokens = try await OAuthError.rendering(
                try await self.tokens.exchange(refreshToken: token, by: requester),
                of: .refreshToken
            )
            let minted = try await self.mint(.token((tokens.access ?? token).bytes), target, requester)
            // The client does not get the access token, so the id_token has no hash of it.
            tokens.access = nil
            return await TokenAnswer.minted(minted, besides: tokens, signer)
        }
        let tokens = try await OAuthError.rendering(
            try await self.tokens.refresh(
                token,
                .transfer(audience: audience) { [mint] parent in await mint.judgement(of: parent, for: requester) },
                for: requester
            ),
            of: .refreshToken
        )
        let minted = try await self.mint(.session(tokens.session.key), target, requester)
        return await TokenAnswer.minted(minted, besides: tokens, signer)
    }
}
