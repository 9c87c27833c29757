package import JOSE
import Settings
import Vocabulary

/// The gateway's public keys as JWK sets (RFC 7517 5). `/.sallyport/jwks.json` on every host has the keys of
/// assertions, for apps. `/.well-known/jwks.json` on hosts with endpoints for verifiers also has the keys of id_tokens,
/// for clients.
package struct KeySetEndpoints: Sendable {
    /// The time for which a cache may keep the set.
    package static let maxAge = Duration.seconds(300)
    /// The time for which a key is published before it signs. Verifiers must not cache the set for longer. Some
    /// libraries refresh at their own pace: mod_auth_openidc once an hour.
    package static let settlingTime = Duration.seconds(3600)

    private let assertions: JWKSet
    private let idTokens: @Sendable () async -> JWKSet?

    /// - Parameter idTokens: Returns the current public keys of id_tokens. `nil` if they are unknown.
    package init(_ assertions: JWKSet, idTokens: @escaping @Sendable () async -> JWKSet? = { JWKSet(keys: []) }) {
        self.assertions = assertions
        self.idTokens = idTokens
    }

    package var endpoints: [Endpoint] {
        [
            self.endpoint("/.sallyport/jwks.json", on: .everyHost) { Self.answer(self.assertions) },
            self.endpoint("/.well-known/jwks.json", on: .hostsWith(.verifiers)) {
                let idTokens = await self.idTokens()
                // A cache must not keep a set without these keys: clients would reject id_tokens of other gateways.
                return Self.answer(
                    JWKSet(keys: self.assertions.keys + (idTokens?.keys ?? [])),
                    isWhole: idTokens != nil
                )
            },
        ]
    }

    private func endpoint(
        _ path: String,
        on scope: EndpointScope,
        _ answer: @escaping @Sendable () async -> EndpointResponse
    ) -> Endpoint {
        Endpoint(path: path, methods: ["GET", "HEAD"], scope: scope, bodyLimit: 0) { _ in await answer() }
            .readable(by: .everyone)
    }

    private static func answer(_ keys: JWKSet, isWhole: Bool = true) -> EndpointResponse {
        EndpointResponse(
            status: 200,
            fields: [
                ("content-type", "application/json"),
                ("cache-control", isWhole ? "public, max-age=\(Self.maxAge.components.seconds)" : "no-store"),
                ("x-content-type-options", "nosniff"),
            ],
            body: JSONText.encode(keys.value)
        )
    }
}
