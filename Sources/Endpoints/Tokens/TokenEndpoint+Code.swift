import SignOn
import Vocabulary

/// `grant_type=authorization_code` (RFC 6749 4.1.3).
extension TokenEndpoint {
    func redeem(
        _ parameters: TokenRequest,
        _ requester: TokenRequester,
        _ signer: IDTokenIssuer.Signer
    ) async throws(OAuthError) -> EndpointResponse {
        let redemption = CodeRedemption(
            code: Secret(try parameters.required("code")),
            redirectURI: try parameters.text("redirect_uri"),
            verifier: try parameters.text("code_verifier")
        )
        let tokens = try await OAuthError.rendering(
            try await self.tokens.redeem(redemption, for: requester),
            of: .code
        )
        return await TokenAnswer.issued(tokens, signer)
    }
}
