package import Calls
import Cryptography
import JOSE
package import Settings
package import Vocabulary

/// Authenticates the gateway as a client at a provider's endpoints (RFC 6749 2.3, OpenID Connect Core 9).
package struct ProviderClientAuthentication: Sendable {
    private enum Proof: Sendable {
        case basic(Secret)
        case post(Secret)
        case signed(SigningKey)
        case none
    }

    /// The lifetime of a client assertion.
    private static let assertionLifetime: Duration = .seconds(60)

    package let clientID: String
    private let proof: Proof
    private let clock: Clock

    /// - Throws: `ProviderSetUpError` if the secret is missing or the key cannot be used.
    package init(_ settings: ProviderClientSettings, clock: Clock) throws(ProviderSetUpError) {
        self.clientID = settings.id
        self.clock = clock
        switch settings.method {
        case .none: self.proof = .none
        case .basic, .post:
            guard let secret = settings.secret else {
                throw ProviderSetUpError(description: "\(settings.method.rawValue) needs client_secret_file")
            }
            self.proof = settings.method == .basic ? .basic(secret) : .post(secret)
        case .privateKeyJWT:
            guard let pem = settings.privateKey else {
                throw ProviderSetUpError(description: "private_key_jwt needs client_key_file")
            }
            do throws(JOSEError) {
                self.proof = .signed(try SigningKey(pem: pem))
            } catch {
                throw ProviderSetUpError(description: "client_key_file: \(error.detail)")
            }
        }
    }

    /// Returns a form POST that authenticates the client and accepts JSON.
    ///
    /// - Parameter audience: The audience of a client assertion: the token endpoint (OpenID Connect Core 9), or `url`
    ///   if the token endpoint is not known.
    package func post(
        _ parameters: [(name: String, value: String)],
        to url: EndpointURL,
        audience: EndpointURL
    ) async -> OutgoingCall {
        var form = parameters
        var fields = [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")]
        switch self.proof {
        case .basic(let secret):
            // The id and the secret are form-encoded before they are joined (RFC 6749 2.3.1).
            let pair = [PercentCoding.encoded(self.clientID), Self.encoded(secret)].joined(separator: ":")
            fields.append(("authorization", "Basic " + Base64.encode(Array(pair.utf8))))
        case .post(let secret):
            form.append(("client_id", self.clientID))
            form.append(("client_secret", String(decoding: secret.bytes, as: UTF8.self)))
        case .signed(let key):
            form.append(("client_id", self.clientID))
            form.append(("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))
            form.append(("client_assertion", await offLoop { self.assertion(key, audience: audience) }))
        case .none:
            form.append(("client_id", self.clientID))
        }
        return OutgoingCall("POST", url.text, fields: fields, body: Array(FormText.encoded(form).utf8))
    }

    /// Returns a client assertion (RFC 7523 3).
    private func assertion(_ key: SigningKey, audience: EndpointURL) -> String {
        let now = self.clock.now()
        let claims: JSONValue = [
            "iss": .string(self.clientID), "sub": .string(self.clientID), "aud": .string(audience.text),
            "jti": .string(Random.base64URL(16)), "iat": .integer(now.seconds),
            "exp": .integer(now.advanced(by: Self.assertionLifetime).seconds),
        ]
        return String(decoding: key.sign(JSONText.encode(claims), header: [("typ", "JWT")]), as: UTF8.self)
    }

    private static func encoded(_ secret: Secret) -> String {
        PercentCoding.encoded(String(decoding: secret.bytes, as: UTF8.self))
    }
}

/// An error in a provider's settings. The description names the key and what is wrong with its value.
package struct ProviderSetUpError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

extension EndpointURL {
    /// Reads the URL that is configured under `key`.
    init(_ text: String, of key: String) throws(ProviderSetUpError) {
        do throws(EndpointURLError) {
            try self.init(text)
        } catch {
            throw ProviderSetUpError(description: "\(key): \(error)")
        }
    }
}
