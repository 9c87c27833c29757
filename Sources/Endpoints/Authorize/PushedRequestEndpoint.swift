internal import JOSE
internal import Sessions
internal import Settings
package import SignOn
internal import Vocabulary

/// `POST /oauth/par` (RFC 9126): a client sends its authorization request itself, and the browser only a reference to it.
package struct PushedRequestEndpoint: Sendable {
    /// Begins every `request_uri` (RFC 9126 2.2).
    static let prefix = "urn:ietf:params:oauth:request_uri:"

    private let authentication: ClientAuthentication
    private let limits: TokenLimits
    private let proofs: ProofCheck
    private let clients: ClientRegistry
    private let tokens: TokenService
    private let idTokens: IDTokenIssuer

    package init(
        authentication: ClientAuthentication,
        limits: TokenLimits,
        proofs: ProofCheck,
        clients: ClientRegistry,
        tokens: TokenService,
        idTokens: IDTokenIssuer
    ) {
        self.authentication = authentication
        self.limits = limits
        self.proofs = proofs
        self.clients = clients
        self.tokens = tokens
        self.idTokens = idTokens
    }

    package var endpoint: Endpoint {
        Endpoint(path: "/oauth/par", methods: ["POST"], outlivesClient: true, envelope: OAuthError.envelope) {
            request in
            await self.answer(request)
        }
    }

    /// 201 with the `request_uri`; what `/authorize` would refuse is refused at once.
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        do throws(OAuthError) {
            let parameters = try TokenRequest(request, readsJSONAsForm: true)
            let client = try await self.authentication.authenticate(request, parameters)
            let requester = try TokenRequester(client, request, parameters)
            try await self.limits.check(requester)
            try await self.limits.checkPush(requester)
            guard try parameters.text("request_uri") == nil else {
                throw .invalidRequest("A pushed request must not have a request_uri.")
            }
            var pushed = try parameters.texts().filter { !Self.ofAuthentication.contains($0.name) }
            pushed.append(("client_id", client.clientID))
            let proof = try await self.proofs.proof(of: request)
            if let proof {
                // A proof names the key as dpop_jkt does (RFC 9449 10.1).
                let stated = pushed.first { $0.name == "dpop_jkt" }?.value
                guard stated == nil || stated == proof.thumbprint else {
                    throw .invalidRequest("The dpop_jkt is not that of the proof.")
                }
                if stated == nil { pushed.append(("dpop_jkt", proof.thumbprint)) }
            }
            let hint: String?
            do throws(AuthorizationRequest.Failure) {
                let wish = try AuthorizationRequest(
                    pushed,
                    clients: self.clients.snapshot,
                    apis: self.tokens.apis,
                    issuer: self.idTokens.issuer,
                    pages: request.pages
                )
                hint = wish.idTokenHint
            } catch {
                switch error {
                case .page: throw .invalidRequest("The redirect_uri is not registered.")
                case .redirect(_, let error): return Self.refusal(error)
                }
            }
            do throws(AuthorizationError) {
                if let hint { _ = try await self.idTokens.subject(of: hint) }
            } catch {
                return Self.refusal(error)
            }
            var response = try await self.keep(FormText.encoded(pushed), client.clientID)
            response.fields += proof?.answerFields ?? []
            return response
        } catch {
            return error.response
        }
    }

    private func keep(_ query: String, _ clientID: String) async throws(OAuthError) -> EndpointResponse {
        let token: Secret
        do throws(NotDone) {
            token = try await self.tokens.push(query, from: clientID)
        } catch {
            throw OAuthError(error.reason)
        }
        return .json(
            201,
            [
                "request_uri": .string(Self.prefix + String(decoding: token.bytes, as: UTF8.self)),
                "expires_in": .integer(PushedRequest.lifetime.components.seconds),
            ],
            fields: TokenAnswer.fields
        )
    }

    /// Parameters of the request to this endpoint, not of the one that is pushed.
    private static let ofAuthentication: Set<String> = [
        "client_id", "client_secret", "client_assertion", "client_assertion_type", UserAddressField.name,
    ]

    /// An error of the pushed request, as at the token endpoint (RFC 9126 2.3).
    private static func refusal(_ error: AuthorizationError) -> EndpointResponse {
        if error.code == .temporarilyUnavailable { return OAuthError(.storeUnavailable).response }
        return .json(
            400,
            ["error": .string(error.code.rawValue), "error_description": .string(error.description)],
            fields: TokenAnswer.fields,
            reason: error.reason
        )
    }
}
