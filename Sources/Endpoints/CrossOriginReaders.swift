import Vocabulary

/// The other origins whose scripts may read an endpoint's answers (Fetch 3.2), never with the browser's own credentials:
/// what a script sends, it has from its user or from an earlier answer.
package struct CrossOriginReaders: Sendable {
    /// nil: every origin.
    private let rule: (@Sendable (_ origin: String) -> Bool)?

    /// Scripts of every origin: the answer is the same for everybody.
    package static let everyone = CrossOriginReaders(rule: nil)

    /// Scripts of the origins that `admits` accepts; it gets whole origins, as browsers write them (`WebOrigin`).
    package static func some(_ admits: @escaping @Sendable (_ origin: String) -> Bool) -> CrossOriginReaders {
        CrossOriginReaders(rule: admits)
    }

    private func admits(_ origin: String) -> Bool {
        WebOrigin(origin.utf8).flatMap { self.rule?($0.text) } ?? false
    }

    /// The fields of every answer to a request from `origin`, whether it succeeds or not.
    package func fields(for origin: String?) -> [(name: String, value: String)] {
        guard self.rule != nil else {
            return [("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin")]
        }
        // Also when the origin is not admitted: a cache must not give that answer to one that is.
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

    /// The answer to a preflight, in addition to `fields(for:)`.
    ///
    /// - Parameter methods: Those of the endpoint.
    package func preflight(from origin: String?, methods: [String], requestID: String?) -> EndpointResponse {
        if self.rule != nil, !(origin.map(self.admits) ?? false) {
            return .problem(.requestCrossSite, requestID: requestID)
        }
        return EndpointResponse(
            status: 204,
            fields: [
                ("access-control-allow-methods", methods.joined(separator: ", ")),
                (
                    // `*` does not mean Authorization.
                    "access-control-allow-headers",
                    self.rule == nil ? "*" : "Authorization, Content-Type, DPoP, X-Session-Token, Auth0-Client"
                ),
                ("access-control-max-age", self.rule == nil ? "86400" : "600"),
            ]
        )
    }
}
