package import SignOn
internal import Vocabulary

/// `POST /oauth/revoke` (RFC 7009), as a form or as Auth0's JSON object.
///
/// No proof of a key is needed: an app that signs out may have lost its key.
package struct RevocationEndpoint: Sendable {
    private let authentication: ClientAuthentication
    private let tokens: TokenService

    package init(authentication: ClientAuthentication, tokens: TokenService) {
        self.authentication = authentication
        self.tokens = tokens
    }

    /// 200 with an empty body, whatever the token is (RFC 7009 2.2): the client learns nothing of a token that is not its
    /// own.
    package var endpoint: Endpoint {
        .oauth("/oauth/revoke", outlivesClient: true) { request throws(OAuthError) in
            let call = try await self.authentication.call(request)
            let token = Secret(try call.parameters.required("token"))
            try await OAuthError.rendering(try await self.tokens.revoke(token, for: call.requester))
            return EndpointResponse(status: 200, fields: [("cache-control", "no-store")] + TokenAnswer.fields)
        }
    }
}
