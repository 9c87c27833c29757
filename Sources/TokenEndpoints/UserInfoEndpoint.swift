package import Endpoints
internal import IDTokens
package import OAuth
internal import Sessions
internal import Vocabulary

/// `/userinfo` (OpenID Connect Core 5.3): who the user of an access token is, as far as its scopes ask for it.
package struct UserInfoEndpoint: Sendable {
    private let tokens: TokenService

    package init(tokens: TokenService) {
        self.tokens = tokens
    }

    package var endpoint: Endpoint {
        Endpoint(path: "/userinfo", methods: ["GET", "POST"]) { request in
            await self.answer(request)
        }
    }

    /// Errors are JSON and not problem documents, because Auth0's SDKs parse nothing else.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        guard !request.credentials.isRepeated else { return Self.refusal(.credentialRepeated, "invalid_request") }
        guard case .bearer(let token) = request.credentials.authorization, !token.bytes.isEmpty else {
            return Self.refusal(.credentialMissing, nil)
        }
        let found: FoundToken
        do {
            found = try await self.tokens.find(token)
        } catch {
            return OAuthError(.storeUnavailable).response
        }
        guard case .session(let session) = found, session.session.access != nil else {
            return Self.refusal(.sessionUnknown, "invalid_token")
        }
        let scopes = session.session.scopes
        guard scopes.contains("openid") else { return Self.refusal(.requireScopes, "insufficient_scope") }
        var claims = UserInfoClaims.claims(of: session.session.identity, scopes: scopes)
        claims["sub"] = .string(session.session.subject)
        return .json(200, .object(claims))
    }

    /// RFC 6750 3.1
    private static func refusal(_ reason: Reason, _ code: String?) -> EndpointResponse {
        let challenge = code.map { "Bearer error=\"\($0)\"" } ?? "Bearer"
        return .json(
            reason.status,
            ["error": .string(code ?? "unauthorized"), "error_description": .string(StatusText.phrase(reason.status))],
            fields: [("www-authenticate", challenge)],
            reason: reason
        )
    }
}
