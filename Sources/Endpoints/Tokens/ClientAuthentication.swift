import Cryptography
import Settings
package import SignOn
import Vocabulary

/// Determines which client sent a request (RFC 6749 2.3). A public client names itself in the body, or by HTTP Basic
/// with an empty secret, as many libraries do. A confidential client authenticates with `client_secret_post`, HTTP
/// Basic or `private_key_jwt`, never with two methods at once.
package struct ClientAuthentication: Sendable {
    private let clients: ClientRegistry
    private let assertions: ClientAssertions
    let limits: TokenLimits

    /// - Parameter limits: The rate limits of clients, which also limit guesses at their secrets.
    package init(clients: ClientRegistry, assertions: ClientAssertions, limits: TokenLimits) {
        self.clients = clients
        self.assertions = assertions
        self.limits = limits
    }

    /// A request of an identified client.
    struct Call: Sendable {
        let parameters: TokenRequest
        var requester: TokenRequester
    }

    /// Reads a request, authenticates its client and applies the rate limit. Endpoints for clients call this first.
    ///
    /// - Parameters:
    ///   - readsJSONAsForm: See `BodyParameters`.
    ///   - takesPublic: True if public clients are served. Anyone can send a request as a public client.
    func call(
        _ request: EndpointRequest,
        readsJSONAsForm: Bool = false,
        takesPublic: Bool = true
    ) async throws(OAuthError) -> Call {
        let parameters = try TokenRequest(request, readsJSONAsForm: readsJSONAsForm)
        let client: ClientSettings
        do throws(OAuthError) {
            client = try await self.authenticate(request, parameters)
        } catch {
            if error.reason == .oauthInvalidClient {
                let claimed = Self.claimant(request, parameters)
                try await self.limits.check(claimed, isProven: false, from: request.address)
            }
            throw error
        }
        guard takesPublic || !client.isPublic else { throw .invalidClient(challenges: false) }
        let requester = try TokenRequester(client, request, parameters)
        try await self.limits.check(client.clientID, isProven: true, from: requester.sender.address)
        return Call(parameters: parameters, requester: requester)
    }

    /// Returns the client that sent the request.
    ///
    /// - Throws: `invalid_client`, `invalid_request` for malformed parameters or two methods of authentication, or
    ///   `temporarily_unavailable` if the store cannot say whether an assertion was presented before.
    private func authenticate(
        _ request: EndpointRequest,
        _ parameters: TokenRequest
    ) async throws(OAuthError) -> ClientSettings {
        let clientID = try parameters.text("client_id")
        let secret = try parameters.text("client_secret")
        let assertion = try parameters.text("client_assertion").map { Secret($0) }
        let authorization = request.credentials.authorization
        // "The client MUST NOT use more than one authentication method in each request."
        guard [authorization != nil, secret != nil, assertion != nil].count(where: { $0 }) <= 1 else {
            throw .invalidRequest("Use only one method of client authentication.")
        }

        let clients = self.clients.snapshot
        let claimed: (client: ClientSettings?, method: ClientAuthenticationMethod)
        if let authorization {
            let presented = Self.public(authorization, clients)
            claimed = presented.map { ($0, .none) } ?? (Self.match(authorization, clients), .basic)
        } else if let secret {
            let given = clientID.map { BasicCredentials(clientID: $0, secret: Array(secret.utf8)) }
            claimed = (given.flatMap { Self.match([$0], clients) }, .post)
        } else if let assertion {
            guard try parameters.required("client_assertion_type") == ClientAssertions.type else {
                throw .invalidClient(challenges: false)
            }
            claimed = (ClientAssertions.claimant(of: assertion).flatMap(clients.client), .privateKeyJWT)
        } else {
            claimed = (clientID.flatMap(clients.client), .none)
        }
        guard let client = claimed.client, clientID == nil || clientID == client.clientID,
            client.authenticationMethods.contains(claimed.method)
        else { throw .invalidClient(challenges: authorization != nil) }
        if let assertion {
            guard let keys = clients.keys(of: client.clientID) else { throw .invalidClient(challenges: false) }
            let url = request.origin + request.path
            try await self.assertions.accept(assertion, of: client.clientID, by: keys, at: url)
        }
        return client
    }

    /// Returns the client id that a request claims. Empty if the request names no client.
    private static func claimant(_ request: EndpointRequest, _ parameters: TokenRequest) -> String {
        if case .basic(let pair) = request.credentials.authorization {
            return BasicCredentials.readings(of: pair)?.first?.clientID ?? ""
        }
        let assertion = parameters.value("client_assertion")?.string
        return assertion.flatMap { ClientAssertions.claimant(of: Secret($0)) }
            ?? parameters.value("client_id")?.string ?? ""
    }

    /// Returns the public client whose id is in `Authorization: Basic` with an empty secret (RFC 6749 2.3.1: "The
    /// client MAY omit the parameter if the client secret is an empty string").
    private static func `public`(
        _ authorization: PresentedCredentials.Authorization,
        _ clients: ClientSnapshot
    ) -> ClientSettings? {
        guard case .basic(let pair) = authorization else { return nil }
        return BasicCredentials.readings(of: pair)?.lazy.filter(\.secret.isEmpty)
            .compactMap { clients.client($0.clientID) }.first(where: \.isPublic)
    }

    /// Returns the client whose id and secret are in `Authorization: Basic`.
    private static func match(
        _ authorization: PresentedCredentials.Authorization,
        _ clients: ClientSnapshot
    ) -> ClientSettings? {
        guard case .basic(let pair) = authorization, let readings = BasicCredentials.readings(of: pair) else {
            return nil
        }
        return Self.match(readings, clients)
    }

    /// Returns the confidential client that one of the readings authenticates. Unknown clients take as many
    /// comparisons, so that the time does not reveal whether a client exists.
    private static func match(_ readings: [BasicCredentials], _ clients: ClientSnapshot) -> ClientSettings? {
        var found: ClientSettings?
        for reading in readings {
            let client = clients.client(reading.clientID)
            let secrets = client?.clientSecrets ?? []
            let presented = SHA256.digest(reading.secret)
            // Always two comparisons: during a rotation a client has two secrets.
            for index in 0..<2 {
                let expected = SHA256.digest(index < secrets.count ? secrets[index].bytes : [])
                let isEqual = constantTimeEqual(expected.bytes, presented.bytes)
                if isEqual, index < secrets.count { found = client }
            }
        }
        return found
    }
}

/// A client's id and secret from one reading of `Authorization: Basic`.
struct BasicCredentials: Sendable, Equatable {
    var clientID: String
    var secret: [UInt8]

    /// Returns the readings of the text after `Basic`. `nil` if it is malformed.
    ///
    /// RFC 6749 2.3.1 requires id and secret to be form-encoded before they are joined. Authlib, requests-oauthlib and
    /// curl join them without encoding, so `+` and `%` in a secret have two readings. Both are accepted.
    static func readings(of credentials: Secret) -> [BasicCredentials]? {
        guard let pair = Base64.decoded(credentials.bytes), let colon = pair.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        let id = pair[..<colon]
        let secret = pair[pair.index(after: colon)...]
        var readings: [BasicCredentials] = []
        if let decodedID = PercentCoding.decoded(id, plusIsSpace: true),
            let decodedSecret = PercentCoding.decoded(secret, plusIsSpace: true),
            let text = String(validating: decodedID, as: UTF8.self)
        {
            readings.append(BasicCredentials(clientID: text, secret: decodedSecret))
        }
        if let text = String(validating: id, as: UTF8.self) {
            let plain = BasicCredentials(clientID: text, secret: Array(secret))
            if !readings.contains(plain) { readings.append(plain) }
        }
        return readings.isEmpty ? nil : readings
    }
}
