import Vocabulary

/// The origins whose scripts may read an endpoint's answers (CORS, Fetch 3.2). Scripts may send tokens, never cookies.
package struct CrossOriginReaders: Sendable {
    /// Whether scripts of `origin` may read the answers. `nil` if scripts of every origin may.
    private let rule: (@Sendable (_ origin: String) -> Bool)?

    /// Every origin. Only for endpoints with public answers.
    package static let everyone = CrossOriginReaders(rule: nil)

    /// Returns the origins that `admits` accepts. `admits` gets each origin in the form of `WebOrigin.text`.
    package static func some(_ admits: @escaping @Sendable (_ origin: String) -> Bool) -> CrossOriginReaders {
        CrossOriginReaders(rule: admits)
    }

    private func admits(_ origin: String) -> Bool {
        WebOrigin(origin.utf8).flatMap { self.rule?($0.text) } ?? false
    }

    /// Returns the CORS fields for every answer to a request from `origin`, including refusals.
    package func fields(for origin: String?) -> [(name: String, value: String)] {
        guard self.rule != nil else {
            return [("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin")]
        }
        // Rejected origins get `Vary`, too: a cache must not serve their answer to an admitted origin.
        let vary = (name: "vary", value: "Origin")
        guard let origin, self.admits(origin) else { return [vary] }
        return [
            vary, ("access-control-allow-origin", origin),
            (
                "access-control-expose-headers",
                "DPoP-Nonce, WWW-Authenticate, Retry-After, X-Kratos-Authenticated-Identity-Id"
            ),
        ]
    }

    /// Returns the answer to a preflight. The caller adds `fields(for:)`.
    package func preflight(from origin: String?, methods: [String], requestID: String?) -> EndpointResponse {
        if self.rule != nil, !(origin.map(self.admits) ?? false) {
            return .problem(.requestCrossSite, requestID: requestID)
        }
        return EndpointResponse(
            status: 204,
            fields: [
                ("access-control-allow-methods", methods.joined(separator: ", ")),
                (
                    // `*` would not allow `Authorization`.
                    "access-control-allow-headers",
                    self.rule == nil ? "*" : "Authorization, Content-Type, DPoP, X-Session-Token, Auth0-Client"
                ),
                ("access-control-max-age", self.rule == nil ? "86400" : "600"),
            ]
        )
    }
}
