import Cryptography
import JOSE
import Vocabulary

/// One call, which sees and changes what the provider remembers.
struct OpenIDTurn: Sendable {
    var state: OpenIDState
    let issuer: String
    let now: UnixTime

    var script: OpenIDScript { self.state.script }

    mutating func answer(to call: OpenIDCall, at endpoint: OpenIDEndpoint) -> OpenIDAnswer {
        if self.script.missing.contains(endpoint) { return OpenIDAnswer(404) }
        let isPost = call.method == "POST"
        switch endpoint {
        case .discovery where !isPost: return self.script.isOpenID ? self.metadata() : OpenIDAnswer(404)
        case .keys where !isPost: return self.keySet()
        case .authorization where !isPost: return self.authorize(call)
        case .token where isPost: return self.token(call)
        case .userinfo: return self.userinfo(call)
        case .introspection where isPost: return self.introspect(call)
        case .revocation where isPost: return self.revoke(call)
        case .logout: return self.logout(call)
        default: return OpenIDAnswer(405)
        }
    }

    func url(_ endpoint: OpenIDEndpoint) -> String { self.issuer + endpoint.rawValue }

    private func metadata() -> OpenIDAnswer {
        var members: [String: JSONValue] = [
            "issuer": .string(self.issuer),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [.string(self.state.signingKey.algorithm.rawValue)],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": [
                "client_secret_basic", "client_secret_post", "private_key_jwt", "none",
            ],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "backchannel_logout_supported": true,
            "backchannel_logout_session_supported": true,
            "frontchannel_logout_supported": true,
            "frontchannel_logout_session_supported": true,
            "dpop_signing_alg_values_supported": ["ES256"],
        ]
        if self.script.namesIssuer { members["authorization_response_iss_parameter_supported"] = true }
        let names: [OpenIDEndpoint: String] = [
            .keys: "jwks_uri", .authorization: "authorization_endpoint", .token: "token_endpoint",
            .userinfo: "userinfo_endpoint", .introspection: "introspection_endpoint",
            .revocation: "revocation_endpoint", .logout: "end_session_endpoint",
        ]
        for (endpoint, name) in names where !self.script.missing.contains(endpoint) {
            members[name] = .string(self.url(endpoint))
        }
        self.script.alterMetadata?(&members)
        return .json(200, members)
    }

    private func keySet() -> OpenIDAnswer {
        let keys = (self.state.keys + self.state.retiredKeys).map(\.publicKey.value)
        var members: [String: JSONValue] = ["keys": .array(keys)]
        self.script.alterKeySet?(&members)
        return .json(200, members)
    }

    // MARK: Tokens

    /// A signed token of the provider.
    func signed(
        _ claims: [String: JSONValue],
        type: String,
        alterHeader: OpenIDScript.Alteration? = nil
    ) -> String {
        let key = self.state.signingKey
        var header: [String: JSONValue] = [
            "alg": .string(key.algorithm.rawValue), "typ": .string(type),
            "kid": key.publicKey.keyID.map(JSONValue.string) ?? .null,
        ]
        alterHeader?(&header)
        let parts = [JSONValue.object(header), .object(claims)].map { Base64URL.encode(JSONText.encode($0)) }
        let text = parts.joined(separator: ".")
        return text + "." + Base64URL.encode(key.signature(of: Array(text.utf8)))
    }

    /// The time in seconds, as claims have it.
    func seconds(after duration: Duration = .zero) -> JSONValue {
        .integer(self.now.advanced(by: duration).seconds)
    }
}
