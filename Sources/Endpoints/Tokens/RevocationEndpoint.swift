package import SignOn
import Vocabulary

/// `POST /oauth/revoke` (RFC 7009), as a form or as Auth0's JSON object.
///
/// No proof of a key is needed: an app that signs out may have lost its key.
package struct RevocationEndpoint: Sendable {
    private let authentication: ClientAuthentication
    private let tokens: TokenService
    private let sessions: SessionService

    /// - Parameter sessions: Signs users out of sessions that a provider made.
    package init(authentication: ClientAuthentication, tokens: TokenService, sessions: SessionService) {
        self.authentication = authentication
        self.tokens = tokens
        self.sessions = sessions
    }

    /// 200 with an empty body, whatever the token is (RFC 7009 2.2): the client learns nothing of a token that is not its
    /// own.
    ///
    /// A provider's own token ends at the provider, if that is told of sign-outs, and here with all that came of it, whichever
    /// client presents it: it was made for none of them. 503 if the provider could not be told.
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
