import JOSE
import Sessions
import Settings
package import SignOn
import Vocabulary

/// `POST /oauth/par` (RFC 9126): a client pushes its authorization request, and the browser sends only a reference.
package struct PushedRequestEndpoint: Sendable {
    /// The beginning of every `request_uri` (RFC 9126 2.2).
    static let prefix = "urn:ietf:params:oauth:request_uri:"

    private let authentication: ClientAuthentication
    private let proofs: ProofCheck
    private let clients: ClientRegistry
    private let tokens: TokenService
    private let idTokens: IDTokenIssuer
    private let levels: AuthenticationLevels

    /// - Parameter levels: The levels that clients may request.
    package init(
        authentication: ClientAuthentication,
        proofs: ProofCheck,
        clients: ClientRegistry,
        tokens: TokenService,
        idTokens: IDTokenIssuer,
        levels: AuthenticationLevels
    ) {
        self.authentication = authentication
        self.proofs = proofs
        self.clients = clients
        self.tokens = tokens
        self.idTokens = idTokens
        self.levels = levels
    }

    package var endpoint: Endpoint {
        .oauth("/oauth/par", outlivesClient: true) { request throws(OAuthError) in try await self.answer(request) }
    }

    /// Returns 201 with the `request_uri` (RFC 9126 2.2).
    private func answer(_ request: EndpointRequest) async throws(OAuthError) -> EndpointResponse {
        let call = try await self.authentication.call(request, readsJSONAsForm: true)
        let (parameters, clientID) = (call.parameters, call.requester.client.clientID)
        try await self.authentication.limits.checkPush(call.requester)
        guard try parameters.text("request_uri") == nil else {
            throw .invalidRequest("A pushed request must not have a request_uri.")
        }
        var pushed = try parameters.texts().filter { !Self.ofAuthentication.contains($0.name) }
        pushed.append(("client_id", clientID))
        let proof = try await self.proofs.proof(of: request)
        if let proof {
            // A proof selects the key, as dpop_jkt does (RFC 9449 10.1).
            let stated = pushed.first { $0.name == "dpop_jkt" }?.value
            guard stated == nil || stated == proof.thumbprint else {
                throw .invalidRequest("The dpop_jkt does not match the key of the proof.")
            }
            if stated == nil { pushed.append(("dpop_jkt", proof.thumbprint)) }
        }
        try await self.check(pushed, request)
        let query = FormText.encoded(pushed)
        let token = try await OAuthError.rendering(try await self.tokens.push(query, from: clientID))
        return .json(
            201,
            [
                "request_uri": .string(Self.prefix + String(decoding: token.bytes, as: UTF8.self)),
                "expires_in": .integer(PushedRequest.lifetime.components.seconds),
            ],
            fields: TokenAnswer.fields + (proof?.answerFields ?? [])
        )
    }

    /// Refuses a request that `/authorize` would refuse, with the errors of the token endpoint (RFC 9126 2.3).
    private func check(
        _ pushed: [(name: String, value: String)],
        _ request: EndpointRequest
    ) async throws(OAuthError) {
        let wish: AuthorizationRequest
        do throws(AuthorizationRequest.Failure) {
            wish = try AuthorizationRequest(
                pushed,
                clients: self.clients.snapshot,
                apis: self.tokens.apis,
                issuer: self.idTokens.issuer,
                pages: request.pages
            )
        } catch {
            switch error {
            case .page: throw .invalidRequest("The redirect_uri is not registered.")
            case .redirect(_, let error): throw error
            }
        }
        if wish.demand(self.levels, among: self.tokens.realms) == .unreachable {
            throw OAuthError(.requireAAL, .unmetAuthenticationRequirements)
        }
        if let hint = wish.idTokenHint { _ = try await self.idTokens.subject(of: hint) }
    }

    /// The parameters that authenticate the client. They are not part of the pushed request.
    private static let ofAuthentication: Set<String> = [
        "client_id", "client_secret", "client_assertion", "client_assertion_type", UserAddressField.name,
    ]
}
