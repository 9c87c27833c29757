internal import JOSE
internal import Sessions
package import SignOn
internal import Vocabulary

/// `/userinfo` (OpenID Connect Core 5.3): who the user of an access token is, as far as its scopes ask for it.
package struct UserInfoEndpoint: Sendable {
    private let limits: TokenLimits
    private let tokens: TokenService
    private let proofs: ProofCheck

    package init(limits: TokenLimits, tokens: TokenService, proofs: ProofCheck) {
        self.limits = limits
        self.tokens = tokens
        self.proofs = proofs
    }

    package var endpoint: Endpoint {
        Endpoint(path: "/userinfo", methods: ["GET", "HEAD", "POST"], envelope: OAuthError.envelope) { request in
            await self.answer(request)
        }
    }

    /// Errors are JSON and not problem documents, because Auth0's SDKs parse nothing else.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        guard let token = Self.token(request) else {
            return Self.refusal(.credentialMissing, nil, DPoPChallenge.anyScheme)
        }
        let proof: DPoPProof?
        let session: Session
        do {
            try await self.limits.check(request.address)
            guard case .session(let found) = try await self.tokens.find(token), found.session.access != nil else {
                return Self.refusal(.sessionUnknown, "invalid_token", #"Bearer error="invalid_token""#)
            }
            session = found.session
            proof = try await self.proofs.proof(of: request, for: token, boundTo: session.keyThumbprint)
        } catch let error as OAuthError {
            return error.response
        } catch let refusal as DPoPRefusal {
            var response = Self.refusal(refusal.reason, refusal.error, DPoPChallenge.text(refusal))
            response.fields += refusal.nonce.map { [("dpop-nonce", $0)] } ?? []
            return response
        } catch {
            return OAuthError(NotDone(asking: error)).response
        }
        var response = Self.response(to: session)
        response.fields += proof?.answerFields ?? []
        return response
    }

    private static func response(to session: Session) -> EndpointResponse {
        guard session.scopes.contains("openid") else {
            return Self.refusal(.requireScopes, "insufficient_scope", #"Bearer error="insufficient_scope""#)
        }
        var claims = UserInfoClaims.claims(of: session.identity, scopes: session.scopes)
        claims["sub"] = .string(session.identity.id)
        claims["act"] = session.actorClaim
        return .json(200, .object(claims))
    }

    /// The token of either scheme.
    private static func token(_ request: EndpointRequest) -> Secret? {
        switch request.credentials.authorization {
        case .bearer(let token), .dpop(let token): token.bytes.isEmpty ? nil : token
        case .basic, .other, nil: nil
        }
    }

    /// - Parameter code: RFC 6750 3.1; nil for a request without a token.
    private static func refusal(_ reason: Reason, _ code: String?, _ challenge: String) -> EndpointResponse {
        .json(
            reason.status,
            ["error": .string(code ?? "unauthorized"), "error_description": .string(StatusText.phrase(reason.status))],
            fields: [("www-authenticate", challenge)],
            reason: reason
        )
    }
}
