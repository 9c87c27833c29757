import JOSE
import Sessions
package import SignOn
import Vocabulary

/// `/userinfo` (OpenID Connect Core 5.3): returns the user's claims that the scopes of the access token include. The
/// token comes in `Authorization`, or in the form of a POST (5.3.1).
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

    /// Answers a request. Errors are JSON instead of problem documents, because Auth0's SDKs parse nothing else.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        guard let tokens = Self.tokens(in: request), tokens.count <= 1 else {
            return Self.refusal(.oauthInvalidRequest, "invalid_request", #"Bearer error="invalid_request""#)
        }
        guard let token = tokens.first ?? nil else {
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

    /// Returns the tokens in a request: in `Authorization` with either scheme, and in the form of a POST (RFC 6750 2.1
    /// and 2.2). A token in the query is not accepted. It is listed as `nil`, so that it conflicts with any other
    /// token.
    ///
    /// - Returns: The tokens. `nil` if the form is malformed.
    private static func tokens(in request: EndpointRequest) -> [Secret?]? {
        var tokens: [Secret?] = []
        switch request.credentials.authorization {
        case .bearer(let token), .dpop(let token): if !token.bytes.isEmpty { tokens.append(token) }
        case .basic, .other, nil: break
        }
        tokens += request.parameters("access_token").map { _ in nil }
        guard request.method == "POST", !request.body.isEmpty else { return tokens }
        do throws(BodyParameters.Failure) {
            if let token = try BodyParameters(request, accepting: [.form]).text("access_token") {
                tokens.append(Secret(token))
            }
        } catch {
            // A body of another type carries no token.
            return error == .mediaType ? tokens : nil
        }
        return tokens
    }

    /// - Parameter code: The error code (RFC 6750 3.1). `nil` for a request without a token.
    private static func refusal(_ reason: Reason, _ code: String?, _ challenge: String) -> EndpointResponse {
        .json(
            reason.status,
            ["error": .string(code ?? "unauthorized"), "error_description": .string(StatusText.phrase(reason.status))],
            fields: [("www-authenticate", challenge)],
            reason: reason
        )
    }
}
