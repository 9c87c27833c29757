import JOSE
import Settings
package import SignOn
import Vocabulary

/// The metadata at `/.well-known/oauth-authorization-server` (RFC 8414) and `/.well-known/openid-configuration` (OpenID
/// Connect Discovery 1.0).
package struct ServerMetadata: Sendable {
    /// The issuer in tokens and metadata: the origin of the first host with endpoints, and `/` for Auth0's SDKs.
    private let issuer: String

    private let signsIn: Bool
    private let clients: ClientRegistry
    private let levels: AuthenticationLevels

    /// - Parameters:
    ///   - origin: The origin of the first host with endpoints.
    ///   - signsIn: Whether `/authorize` is served.
    ///   - levels: The levels that clients may request at `/authorize`.
    package init(
        origin: String,
        signsIn: Bool,
        clients: ClientRegistry,
        levels: AuthenticationLevels = AuthenticationLevels([])
    ) {
        self.issuer = Self.issuer(origin)
        self.signsIn = signsIn
        self.clients = clients
        self.levels = levels
    }

    /// Returns the issuer for an origin.
    package static func issuer(_ origin: String) -> String { origin + "/" }

    package var endpoints: [Endpoint] {
        ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"].map { path in
            Endpoint(path: path, methods: ["GET", "HEAD"]) { _ in
                EndpointResponse(
                    status: 200,
                    fields: [
                        ("content-type", "application/json"), ("cache-control", "public, max-age=300"),
                        ("x-content-type-options", "nosniff"),
                    ],
                    body: JSONText.encode(self.document)
                )
            }.readable(by: .everyone)
        }
    }

    private var document: JSONValue {
        let hasImplicit = self.clients.snapshot.hasImplicit
        let grants = hasImplicit ? GrantType.allCases : GrantType.usual
        var document: [String: JSONValue] = [
            "issuer": .string(self.issuer),
            "token_endpoint": .string(self.issuer + "oauth/token"),
            "revocation_endpoint": .string(self.issuer + "oauth/revoke"),
            "introspection_endpoint": .string(self.issuer + "oauth/introspect"),
            "jwks_uri": .string(self.issuer + ".well-known/jwks.json"),
            "grant_types_supported": .array(grants.map { .string($0.rawValue) }),
            "response_types_supported": .array(
                self.signsIn ? (hasImplicit ? ["code", "id_token"] : ["code"]) : []
            ),
            "userinfo_endpoint": .string(self.issuer + "userinfo"),
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "dpop_signing_alg_values_supported": .array(DPoPJudge.algorithms.map { .string($0.rawValue) }),
            "scopes_supported": .array((APIDirectory.ownScopes + [APIDirectory.sessions]).map { .string($0) }),
            "claims_supported": .array((["sub"] + UserInfoClaims.names).map { .string($0) }),
        ]
        for endpoint in ["token", "revocation", "introspection"] {
            // Public clients cannot introspect, because anyone can send a request in their name.
            let methods = ClientAuthenticationMethod.allCases.filter { $0 != .none || endpoint != "introspection" }
            let algorithms = ClientAssertions.algorithms
            document["\(endpoint)_endpoint_auth_methods_supported"] = .array(methods.map { .string($0.rawValue) })
            document["\(endpoint)_endpoint_auth_signing_alg_values_supported"] = .array(
                algorithms.map { .string($0.rawValue) }
            )
        }
        if self.signsIn {
            document["authorization_endpoint"] = .string(self.issuer + "authorize")
            document["pushed_authorization_request_endpoint"] = .string(self.issuer + "oauth/par")
            document["request_uri_parameter_supported"] = false
            document["end_session_endpoint"] = .string(self.issuer + "oidc/logout")
            document["backchannel_logout_supported"] = true
            document["backchannel_logout_session_supported"] = true
            document["response_modes_supported"] = .array(AuthorizationAnswer.Mode.names.map { .string($0) })
            document["code_challenge_methods_supported"] = ["S256"]
            document["authorization_response_iss_parameter_supported"] = true
            document["acr_values_supported"] = .array(self.levels.supported.map { .string($0) })
        }
        return .object(document)
    }
}
