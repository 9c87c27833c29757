package import Clients
import Cryptography
package import Endpoints
package import Settings
internal import Vocabulary

/// Determines which client sends a request (RFC 6749 2.3): a public client names itself in the body; a confidential one
/// authenticates by `client_secret_post` or HTTP Basic, never by two methods at once.
package struct ClientAuthentication: Sendable {
    private let clients: ClientRegistry

    package init(clients: ClientRegistry) {
        self.clients = clients
    }

    /// The client that sent the request; else `invalid_client`, or `invalid_request` when it identifies itself in two
    /// ways.
    package func authenticate(
        _ request: EndpointRequest,
        _ parameters: TokenRequest
    ) throws(OAuthError) -> ClientSettings {
        let clientID = try parameters.text("client_id")
        let secret = try parameters.text("client_secret")
        guard !request.credentials.isRepeated else { throw .invalidRequest("Credentials must not be repeated.") }

        if let authorization = request.credentials.authorization {
            // "The client MUST NOT use more than one authentication method in each request."
            guard secret == nil else {
                throw .invalidRequest("Only one method of client authentication may be used.")
            }
            guard case .basic(let pair) = authorization, let readings = BasicCredentials.readings(of: pair),
                let client = self.match(readings), clientID == nil || clientID == client.clientID
            else { throw .invalidClient(challenges: true) }
            return client
        }
        guard let clientID else { throw .invalidClient(challenges: false) }
        if let secret {
            let reading = BasicCredentials(clientID: clientID, secret: Array(secret.utf8))
            guard let client = self.match([reading]) else { throw .invalidClient(challenges: false) }
            return client
        }
        guard let client = self.clients.snapshot.client(clientID), client.isPublic else {
            throw .invalidClient(challenges: false)
        }
        return client
    }

    /// The confidential client one of whose secrets is in one of the readings. A client that does not exist, or has no
    /// secret, costs the same comparisons.
    private func match(_ readings: [BasicCredentials]) -> ClientSettings? {
        let clients = self.clients.snapshot
        var found: ClientSettings?
        for reading in readings {
            let client = clients.client(reading.clientID)
            let secrets = client?.clientSecrets ?? []
            let presented = SHA256.digest(reading.secret)
            // Two comparisons in any case: during a rotation a client has two secrets.
            for index in 0..<2 {
                let expected = SHA256.digest(index < secrets.count ? secrets[index].bytes : [])
                let isEqual = constantTimeEqual(expected.bytes, presented.bytes)
                if isEqual, index < secrets.count { found = client }
            }
        }
        return found
    }
}

/// A client's id and secret as one reading of `Authorization: Basic` gives them.
struct BasicCredentials: Sendable, Equatable {
    var clientID: String
    var secret: [UInt8]

    /// The readings of the text after `Basic` in the field; nil when it is malformed.
    ///
    /// RFC 6749 2.3.1 requires id and secret to be form-encoded before they are joined. Authlib, requests-oauthlib and
    /// curl join them as they are, so `+` and `%` in a secret have two readings; a client may use either.
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
