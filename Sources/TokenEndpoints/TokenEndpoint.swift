package import Clients
package import Endpoints
package import Handoff
package import NIOCore
import Sessions
package import Settings
internal import Vocabulary

/// `POST /oauth/token`: issues tokens for grants (RFC 6749 3.2).
///
/// Every request is processed in this order: body, client, grant. A grant is a case of `GrantType` and a method here.
package struct TokenEndpoint: Sendable {
    /// The grants that are served.
    private enum GrantType: String {
        case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    }

    private let authentication: ClientAuthentication
    private let targets: TransferTargets
    private let mint: HandoffMint
    private let loops: any EventLoopGroup

    /// - Parameters:
    ///   - clients: The registered clients.
    ///   - hosts: Every configured host.
    ///   - loops: The loops on which the store is called.
    package init(clients: ClientRegistry, hosts: [HostSettings], mint: HandoffMint, loops: any EventLoopGroup) {
        self.authentication = ClientAuthentication(clients: clients)
        self.targets = TransferTargets(hosts)
        self.mint = mint
        self.loops = loops
    }

    /// The endpoint for the listener. Its handler continues when the client leaves: a token that the store keeps must
    /// also be audited.
    package var endpoint: Endpoint {
        Endpoint(path: "/oauth/token", methods: ["POST"], outlivesClient: true) { request in
            await self.answer(request)
        }
    }

    /// Answers one request; an error becomes an answer too.
    package func answer(_ request: EndpointRequest) async -> EndpointResponse {
        do throws(OAuthError) {
            let parameters = try TokenRequest(request)
            let client = try self.authentication.authenticate(request, parameters)
            guard let grant = GrantType(rawValue: try parameters.required("grant_type")) else {
                throw OAuthError(.oauthUnsupportedGrantType)
            }
            switch grant {
            case .tokenExchange:
                return try await self.exchange(
                    try TokenExchange(parameters, targets: self.targets),
                    request,
                    client: client
                )
            }
        } catch {
            return error.response
        }
    }

    private func exchange(
        _ exchange: TokenExchange,
        _ request: EndpointRequest,
        client: ClientSettings
    ) async throws(OAuthError) -> EndpointResponse {
        let wish = MintRequest(
            sessionToken: exchange.subjectToken.bytes,
            client: client,
            audience: exchange.audience,
            host: exchange.host,
            address: request.address,
            userAgent: request.field("user-agent"),
            requestID: request.requestID
        )
        let outcome: MintOutcome
        do {
            outcome = try await self.mint.mint(wish, on: self.loops.any()).get()
        } catch {
            throw OAuthError(.storeUnavailable)
        }
        switch outcome {
        case .minted(let token, let lifetime):
            return .json(
                200,
                [
                    "access_token": .string(String(decoding: token.bytes, as: UTF8.self)),
                    "issued_token_type": .string(TokenExchange.transferTokenType),
                    "token_type": "N_A",
                    "expires_in": .integer(lifetime.wholeMilliseconds / 1000),
                ],
                fields: TokenAnswer.fields
            )
        case .unavailable(.unavailable):
            throw OAuthError(.storeUnavailable)
        case .unavailable(.full):
            throw OAuthError(.storeFull)
        case .throttled(let wait):
            throw .tooManyRequests(.handoffThrottled, retryAfter: wait)
        case .refused(let reason):
            throw OAuthError(reason)
        }
    }
}
