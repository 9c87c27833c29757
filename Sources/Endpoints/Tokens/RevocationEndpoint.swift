package import SignOn
internal import Vocabulary

/// `POST /oauth/revoke` (RFC 7009), as a form or as Auth0's JSON object.
///
/// No proof of a key is needed: an app that signs out may have lost its key.
package struct RevocationEndpoint: Sendable {
    private let authentication: ClientAuthentication
    private let limits: TokenLimits
    private let tokens: TokenService

    package init(authentication: ClientAuthentication, limits: TokenLimits, tokens: TokenService) {
        self.authentication = authentication
        self.limits = limits
        self.tokens = tokens
    }

    package var endpoint: Endpoint {
        Endpoint(path: "/oauth/revoke", methods: ["POST"], outlivesClient: true, envelope: OAuthError.envelope) {
            request in
            await self.answer(request)
        }
    }

    /// 200 with an empty body, whatever the token is (RFC 7009 2.2): the client learns nothing of a token that is not its
    /// own.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        do throws(OAuthError) {
            let parameters = try TokenRequest(request)
            let client = try await self.authentication.authenticate(request, parameters)
            let requester = try TokenRequester(client, request, parameters)
            try await self.limits.check(requester)
            let token = Secret(try parameters.required("token"))
            if let reason = await self.tokens.revoke(token, for: requester) { throw OAuthError(reason) }
            return EndpointResponse(status: 200, fields: [("cache-control", "no-store")] + TokenAnswer.fields)
        } catch {
            return error.response
        }
    }
}
