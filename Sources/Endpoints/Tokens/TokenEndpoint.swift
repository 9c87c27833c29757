internal import AddressIntelligence
internal import JOSE
package import NIOCore
package import Settings
package import SignOn
internal import Vocabulary

/// `POST /oauth/token`: issues tokens for grants (RFC 6749 3.2).
///
/// Every request is processed in this order: body, client, rate limit, grant. A grant is a case of `GrantType` and a
/// method in a file of its own.
package struct TokenEndpoint: Sendable {
    private let authentication: ClientAuthentication
    private let limits: TokenLimits
    let targets: TransferTargets
    let tokens: TokenService
    let mint: HandoffMint
    let social: SocialSignIns
    private let proofs: ProofCheck
    private let idTokens: IDTokenIssuer
    let loops: any EventLoopGroup

    /// - Parameters:
    ///   - hosts: Every configured host.
    ///   - loops: The loops on which the store is called.
    package init(
        authentication: ClientAuthentication,
        limits: TokenLimits,
        hosts: [HostSettings],
        tokens: TokenService,
        mint: HandoffMint,
        social: SocialSignIns,
        proofs: ProofCheck,
        idTokens: IDTokenIssuer,
        loops: any EventLoopGroup
    ) {
        self.authentication = authentication
        self.limits = limits
        self.targets = TransferTargets(hosts)
        self.tokens = tokens
        self.mint = mint
        self.social = social
        self.proofs = proofs
        self.idTokens = idTokens
        self.loops = loops
    }

    /// The endpoint for the listener. Its handler continues when the client leaves: a token that the store keeps must
    /// also be audited.
    package var endpoint: Endpoint {
        Endpoint(path: "/oauth/token", methods: ["POST"], outlivesClient: true, envelope: OAuthError.envelope) {
            request in
            await self.answer(request)
        }
    }

    /// Answers one request; an error becomes an answer too.
    package func answer(_ request: EndpointRequest) async -> EndpointResponse {
        do throws(OAuthError) {
            let parameters = try TokenRequest(request)
            let client = try await self.authentication.authenticate(request, parameters)
            var requester = try TokenRequester(client, request, parameters)
            try await self.limits.check(requester)
            guard let grant = GrantType(rawValue: try parameters.required("grant_type")) else {
                throw OAuthError(.oauthUnsupportedGrantType)
            }
            guard client.grantTypes.contains(grant) else { throw OAuthError(.oauthUnauthorizedClient) }
            if grant != .tokenExchange { try TokenExchange.refuseActor(in: parameters) }
            let proof = try await self.proofs.proof(of: request)
            guard proof != nil || !client.requiresProof else { throw OAuthError(.proofMissing) }
            requester.keyThumbprint = proof?.thumbprint
            requester.audience = (try? parameters.audience()) ?? nil
            var response = await self.answer(grant, parameters, requester)
            response.fields += proof?.answerFields ?? []
            return response
        } catch {
            return error.response
        }
    }

    private func answer(
        _ grant: GrantType,
        _ parameters: TokenRequest,
        _ requester: TokenRequester
    ) async -> EndpointResponse {
        do throws(OAuthError) {
            guard let signer = await self.idTokens.signer() else { throw OAuthError(.storeUnavailable) }
            switch grant {
            case .authorizationCode: return try await self.redeem(parameters, requester, signer)
            case .refreshToken: return try await self.refresh(parameters, requester, signer)
            case .tokenExchange: return try await self.exchange(parameters, requester, signer)
            case .implicit: throw OAuthError(.oauthUnsupportedGrantType)
            }
        } catch {
            return error.response
        }
    }
}

extension TokenRequester {
    /// Who sends `request`, with these parameters.
    init(
        _ client: ClientSettings,
        _ request: EndpointRequest,
        _ parameters: TokenRequest
    ) throws(OAuthError) {
        // Anyone can send a request as a public client, so the address is the one of the connection.
        let stated = client.trustsAddressField && !client.isPublic ? try Self.address(in: request, parameters) : nil
        self.init(
            client: client,
            address: stated ?? request.address,
            userAgent: request.field("user-agent"),
            requestID: request.requestID,
            authority: request.authority
        )
    }

    /// The user's address, as the server of a client states it in the field, the body, or alike in both; nil if it does
    /// not.
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
            guard let address = IPAddress(text), address.isClients, stated == nil || stated == address else {
                throw .invalidRequest("The \(name) must be one IP address.")
            }
            stated = address
        }
        return stated
    }
}
