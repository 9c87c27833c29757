package import Endpoints
package import JOSE
internal import Vocabulary

/// The gateway's public keys as a JWK set (RFC 7517 5), for apps and services that verify its assertions: on every host,
/// and at the usual path on hosts with endpoints.
package struct KeySetEndpoints: Sendable {
    /// How long a cache may keep the set.
    package static let maxAge = Duration.seconds(300)
    /// How long after a key was published it may begin to sign: longer than verifiers keep the set. Libraries refresh it
    /// at their own pace, mod_auth_openidc for example once an hour.
    package static let settlingTime = Duration.seconds(3600)

    private let document: JSONValue

    package init(_ keys: JWKSet) {
        self.document = keys.value
    }

    package var endpoints: [Endpoint] {
        [
            self.endpoint("/.sallyport/jwks.json", on: .everyHost),
            self.endpoint("/.well-known/jwks.json", on: .endpointHosts),
        ]
    }

    private func endpoint(_ path: String, on scope: EndpointScope) -> Endpoint {
        Endpoint(path: path, methods: ["GET", "HEAD", "OPTIONS"], scope: scope, bodyLimit: 0) { request in
            request.method == "OPTIONS" ? Self.preflight : self.keys
        }
    }

    private var keys: EndpointResponse {
        EndpointResponse(
            status: 200,
            fields: [
                ("content-type", "application/json"),
                ("cache-control", "public, max-age=\(Self.maxAge.components.seconds)"),
                ("x-content-type-options", "nosniff"),
            ] + Self.readable,
            body: JSONText.encode(self.document)
        )
    }

    /// Any page may read the set, which is the same for everybody.
    private static let readable: [(name: String, value: String)] = [
        ("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin"),
    ]

    /// The answer to a CORS preflight: scripts may send any field.
    private static let preflight = EndpointResponse(
        status: 204,
        fields: readable + [
            ("access-control-allow-methods", "GET, HEAD, OPTIONS"), ("access-control-allow-headers", "*"),
            ("access-control-max-age", "86400"),
        ]
    )
}
