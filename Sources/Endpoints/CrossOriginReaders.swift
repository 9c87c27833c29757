import Vocabulary

/// The origins whose scripts may read an endpoint's answers (Fetch 3.2). These scripts cannot use the browser's
/// cookies. They send tokens from the user or from an earlier answer.
package struct CrossOriginReaders: Sendable {
    /// Whether scripts of `origin` may read the answers. `nil` if scripts of every origin may read them.
    private let rule: (@Sendable (_ origin: String) -> Bool)?

    /// Scripts of every origin. The answer must be public.
    package static let everyone = CrossOriginReaders(rule: nil)

    /// Returns readers that are scripts of the origins that `admits` accepts. The closure gets whole origins, as
    /// browsers write them (`WebOrigin`).
    package static func some(_ admits: @escaping @Sendable (_ origin: String) -> Bool) -> CrossOriginReaders {
        CrossOriginReaders(rule: admits)
    }

    private func admits(_ origin: String) -> Bool {
        WebOrigin(origin.utf8).flatMap { self.rule?($0.text) } ?? false
    }

    /// Returns the fields for every answer to a request from `origin`, successful or not.
    package func fields(for origin: String?) -> [(name: String, value: String)] {
        guard self.rule != nil else {
            return [("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin")]
        }
        // Needed even if the origin is not admitted: a cache must not give that answer to an admitted origin.
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

    /// Returns the answer to a preflight, without the fields of `fields(for:)`.
    ///
    /// - Parameter methods: The methods of the endpoint.
    package func preflight(from origin: String?, methods: [String], requestID: String?) -> EndpointResponse {
        if self.rule != nil, !(origin.map(self.admits) ?? false) {
            return .problem(.requestCrossSite, requestID: requestID)
        }
        return EndpointResponse(
            status: 204,
            fields: [
                ("access-control-allow-methods", methods.joined(separator: ", ")),
                (
                    // `*` does not include Authorization.
                    "access-control-allow-headers",
                    self.rule == nil ? "*" : "Authorization, Content-Type, DPoP, X-Session-Token, Auth0-Client"
                ),
                ("access-control-max-age", self.rule == nil ? "86400" : "600"),
            ]
        )
    }
}
