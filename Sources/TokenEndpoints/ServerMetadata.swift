package import Endpoints
internal import IDTokens
internal import OAuth
internal import Settings
internal import Vocabulary

/// `/.well-known/oauth-authorization-server` (RFC 8414) and `/.well-known/openid-configuration` (OpenID Connect Discovery
/// 1.0): what is served, and where.
package struct ServerMetadata: Sendable {
    /// The issuer in tokens and metadata: the URL of the first host with endpoints, with a slash at its end as Auth0's
    /// SDKs expect.
    private let issuer: String

    private let signsIn: Bool

    /// - Parameters:
    ///   - origin: The origin of the first host with endpoints.
    ///   - signsIn: Whether users can sign in, so that there is `/authorize`.
    package init(origin: String, signsIn: Bool) {
        self.issuer = Self.issuer(origin)
        self.signsIn = signsIn
    }

    /// The issuer for an origin.
    package static func issuer(_ origin: String) -> String { origin + "/" }

    package var endpoints: [Endpoint] {
        ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"].map { path in
            Endpoint(path: path, methods: ["GET", "HEAD"]) { _ in
                .json(
                    200,
                    self.document,
                    fields: [("cache-control", "public, max-age=300"), ("access-control-allow-origin", "*")]
                )
            }
        }
    }

    private var document: JSONValue {
        let methods: JSONValue = ["none", "client_secret_basic", "client_secret_post"]
        let withSecret: JSONValue = ["client_secret_basic", "client_secret_post"]
        var document: [String: JSONValue] = [
            "issuer": .string(self.issuer),
            "token_endpoint": .string(self.issuer + "oauth/token"),
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint": .string(self.issuer + "oauth/revoke"),
            "revocation_endpoint_auth_methods_supported": methods,
            "introspection_endpoint": .string(self.issuer + "oauth/introspect"),
            "introspection_endpoint_auth_methods_supported": withSecret,
            "jwks_uri": .string(self.issuer + ".well-known/jwks.json"),
            "grant_types_supported": .array(GrantType.allCases.map { .string($0.rawValue) }),
            "response_types_supported": self.signsIn ? ["code", "id_token"] : [],
            "userinfo_endpoint": .string(self.issuer + "userinfo"),
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": .array(APIDirectory.ownScopes.map { .string($0) }),
            "claims_supported": .array((["sub"] + UserInfoClaims.names).map { .string($0) }),
        ]
        if self.signsIn {
            document["authorization_endpoint"] = .string(self.issuer + "authorize")
            document["response_modes_supported"] = ["query", "form_post"]
            document["code_challenge_methods_supported"] = ["S256"]
            document["authorization_response_iss_parameter_supported"] = true
        }
        return .object(document)
    }
}
