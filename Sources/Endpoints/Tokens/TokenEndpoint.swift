import AddressIntelligence
import JOSE
package import Settings
package import SignOn
import Vocabulary

/// `POST /oauth/token`: issues tokens for grants (RFC 6749 3.2).
///
/// Every request is processed in this order: body, client, rate limit, grant. Each grant is a case of `GrantType` and a
/// method in its own file.
package struct TokenEndpoint: Sendable {
    private let authentication: ClientAuthentication
    let targets: TransferTargets
    let tokens: TokenService
    let mint: HandoffMint
    let social: SocialSignIns
    private let proofs: ProofCheck
    private let idTokens: IDTokenIssuer

    /// - Parameter hosts: All configured hosts.
    package init(
        authentication: ClientAuthentication,
        hosts: [HostSettings],
        tokens: TokenService,
        mint: HandoffMint,
        social: SocialSignIns,
        proofs: ProofCheck,
        idTokens: IDTokenIssuer
    ) {
        self.authentication = authentication
        self.targets = TransferTargets(hosts)
        self.tokens = tokens
        self.mint = mint
        self.social = social
        self.proofs = proofs
        self.idTokens = idTokens
    }

    /// The endpoint. It continues if the client disconnects, because a token that was stored must also be audited.
    package var endpoint: Endpoint {
        .oauth("/oauth/token", outlivesClient: true) { request throws(OAuthError) in try await self.answer(request) }
    }

    private func answer(_ request: EndpointRequest) async throws(OAuthError) -> EndpointResponse {
        var call = try await self.authentication.call(request)
        let (parameters, client) = (call.parameters, call.requester.client)
        guard let grant = GrantType(rawValue: try parameters.required("grant_type")) else {
            throw OAuthError(.oauthUnsupportedGrantType)
        }
        guard client.grantTypes.contains(grant) else { throw OAuthError(.oauthUnauthorizedClient) }
        if grant != .tokenExchange { try TokenExchange.refuseActor(in: parameters) }
        let proof = try await self.proofs.proof(of: request)
        guard proof != nil || !client.requiresProof else { throw OAuthError(.proofMissing) }
        call.requester.keyThumbprint = proof?.thumbprint
        call.requester.audience = (try? parameters.audience()) ?? nil
        var response: EndpointResponse
        do throws(OAuthError) {
            response = try await self.issue(by: grant, parameters, call.requester)
        } catch {
            response = error.response
        }
        response.fields += proof?.answerFields ?? []
        return response
    }

    private func issue(
        by grant: GrantType,
        _ parameters: TokenRequest,
        _ requester: TokenRequester
    ) async throws(OAuthError) -> EndpointResponse {
        guard let signer = await self.idTokens.signer() else { throw OAuthError(.storeUnavailable) }
        switch grant {
        case .authorizationCode: return try await self.redeem(parameters, requester, signer)
        case .refreshToken: return try await self.refresh(parameters, requester, signer)
        case .tokenExchange: return try await self.exchange(parameters, requester, signer)
        case .implicit: throw OAuthError(.oauthUnsupportedGrantType)
        }
    }
}

extension TokenRequester {
    /// Creates the requester of `request`, with the user's address if the client states it.
    init(
        _ client: ClientSettings,
        _ request: EndpointRequest,
        _ parameters: TokenRequest
    ) throws(OAuthError) {
        // Anyone can send a request as a public client, so the address of the connection is used.
        let stated = client.trustsAddressField && !client.isPublic ? try Self.address(in: request, parameters) : nil
        self.init(client: client, sender: request.requester.withoutCookies)
        if let stated { self.sender.address = stated }
    }

    /// Returns the user's address from the field or the body. Two addresses must agree. `nil` if there is no address.
    private static func address(
        in request: EndpointRequest,
        _ parameters: TokenRequest
    ) throws(OAuthError) -> IPAddress? {
        let name = UserAddressField.name
        var texts = request.fields.filter { $0.name == name }.map(\.value)
        guard texts.count <= 1 else { throw .invalidRequest("The field \(name) must not be repeated.") }
        if let text = try parameters.text(name) { texts.append(text) }
        var stated: IPAddress?
        for text in texts {
            guard let address = IPAddress(text), address.canBeClient, stated == nil || stated == address else {
                throw .invalidRequest("The \(name) must be one IP address.")
            }
            stated = address
        }
        return stated
    }
}
