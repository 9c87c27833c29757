import Cryptography
package import Endpoints
package import Handoff
package import Settings
internal import Vocabulary

/// Finds out which client calls (RFC 6749 2.3): a public one names itself in the body, a confidential one proves itself
/// by `client_secret_post` or HTTP Basic, never by two methods at once.
package struct ClientAuthentication: Sendable {
    private let clients: ClientRegistry

    package init(clients: ClientRegistry) {
        self.clients = clients
    }

    /// The client that sent the request, or `invalid_client`; `invalid_request` when it says two things about itself.
    package func authenticate(
        _ request: EndpointRequest,
        _ parameters: TokenRequest
    ) throws(OAuthError) -> ClientSettings {
        let clientID = try parameters.text("client_id")
        let secret = try parameters.text("client_secret")
        let authorization = request.fields.filter { $0.name == "authorization" }.map(\.value)
        guard authorization.count <= 1 else { throw .invalidRequest("Authorization must not be repeated.") }

        if let authorization = authorization.first {
            // "The client MUST NOT use more than one authentication method in each request."
            guard secret == nil else {
                throw .invalidRequest("Only one method of client authentication may be used.")
            }
            guard let readings = BasicCredentials.readings(of: authorization),
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
        guard let client = self.clients.client(clientID), client.clientSecret == nil else {
            throw .invalidClient(challenges: false)
        }
        return client
    }

    /// The confidential client whose secret one of the readings holds. A client that does not exist, or has no secret,
    /// costs the same comparison.
    private func match(_ readings: [BasicCredentials]) -> ClientSettings? {
        var found: ClientSettings?
        for reading in readings {
            let client = self.clients.client(reading.clientID)
            let expected = SHA256.digest(client?.clientSecret?.bytes ?? [])
            let isEqual = constantTimeEqual(expected.bytes, SHA256.digest(reading.secret).bytes)
            if isEqual, client?.clientSecret?.bytes.isEmpty == false { found = client }
        }
        return found
    }
}

/// A client's id and secret as one reading of `Authorization: Basic` gives them.
struct BasicCredentials: Sendable, Equatable {
    var clientID: String
    var secret: [UInt8]

    /// The readings of the field's value; nil when it is not Basic or malformed.
    ///
    /// RFC 6749 2.3.1 wants id and secret form-encoded before they are joined. Authlib, requests-oauthlib and curl join
    /// them as they are, so that `+` and `%` in a secret have two readings; whoever knows the secret may use either.
    static func readings(of authorization: String) -> [BasicCredentials]? {
        let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let pair = Self.base64(parts[1].drop { $0 == " " }),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        let id = pair[..<colon]
        let secret = pair[pair.index(after: colon)...]
        var readings: [BasicCredentials] = []
        if let decodedID = PercentDecoding.decoded(id, plusIsSpace: true),
            let decodedSecret = PercentDecoding.decoded(secret, plusIsSpace: true),
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

    /// Strict base64 (RFC 4648 4): padded to a multiple of four, nothing else between.
    private static func base64(_ text: Substring) -> [UInt8]? {
        let bytes = Array(text.utf8)
        let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard bytes.count % 4 == 0, padding <= 2 else { return nil }
        var url = ""
        for byte in bytes.dropLast(padding) {
            switch byte {
            case UInt8(ascii: "+"): url.append("-")
            case UInt8(ascii: "/"): url.append("_")
            case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
            default: url.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return Base64URL.decode(url)
    }
}
