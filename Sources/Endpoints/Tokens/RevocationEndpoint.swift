package import SignOn
import Vocabulary

/// `POST /oauth/revoke` (RFC 7009), as a form or as Auth0's JSON object.
///
/// No DPoP proof is needed, because an app that signs out may have lost its key.
package struct RevocationEndpoint: Sendable {
    private let authentication: ClientAuthentication
    private let tokens: TokenService
    private let sessions: SessionService

    /// - Parameter sessions: The service that signs users out of a provider's sessions.
    package init(authentication: ClientAuthentication, tokens: TokenService, sessions: SessionService) {
        self.authentication = authentication
        self.tokens = tokens
        self.sessions = sessions
    }

    /// The endpoint. It answers 200 with an empty body for any token (RFC 7009 2.2), so that a client learns nothing
    /// about other clients' tokens.
    ///
    /// Any client may revoke a provider's token. Everything that came from the token ends. A provider that is notified
    /// of sign-outs must revoke the token, too. The answer is 503 if this fails.
    package var endpoint: Endpoint {
        .oauth("/oauth/revoke", outlivesClient: true) { request throws(OAuthError) in
            let call = try await self.authentication.call(request)
            let token = Secret(try call.parameters.required("token"))
            try await OAuthError.rendering(try await self.revoke(token, for: call.requester))
            return EndpointResponse(status: 200, fields: [("cache-control", "no-store")] + TokenAnswer.fields)
        }
    }

    private func revoke(_ token: Secret, for requester: TokenRequester) async throws(NotDone) {
        guard self.tokens.isForeign(revoked: token) else { return try await self.tokens.revoke(token, for: requester) }
        let sender = requester.sender.withoutCookies
        _ = try await SessionService.ifAny(try await self.sessions.signOutForeign(token, for: sender))
    }
}
