internal import Vocabulary

/// The other origins whose scripts may read an endpoint's answers (Fetch 3.2), never with the browser's own credentials:
/// what a script sends, it has from its user or from an earlier answer.
package struct CrossOriginReaders: Sendable {
    /// nil: every origin.
    private let admits: (@Sendable (_ origin: String) -> Bool)?

    /// Scripts of every origin: the answer is the same for everybody.
    package static let everyone = CrossOriginReaders(admits: nil)

    /// Scripts of the origins that `admits` accepts; whole origins, as browsers write them.
    package static func some(_ admits: @escaping @Sendable (_ origin: String) -> Bool) -> CrossOriginReaders {
        CrossOriginReaders(admits: admits)
    }

    /// The fields of every answer to a request from `origin`, whether it succeeds or not.
    package func fields(for origin: String?) -> [(name: String, value: String)] {
        guard let admits = self.admits else {
            return [("access-control-allow-origin", "*"), ("cross-origin-resource-policy", "cross-origin")]
        }
        // Also when the origin is not admitted: a cache must not give that answer to one that is.
        let vary = (name: "vary", value: "Origin")
        guard let origin, admits(origin) else { return [vary] }
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
        if let admits = self.admits, !(origin.map(admits) ?? false) {
            return .problem(.requestCrossSite, requestID: requestID)
        }
        return EndpointResponse(
            status: 204,
            fields: [
                ("access-control-allow-methods", methods.joined(separator: ", ")),
                (
                    // `*` does not mean Authorization.
                    "access-control-allow-headers",
                    self.admits == nil ? "*" : "Authorization, Content-Type, DPoP, X-Session-Token, Auth0-Client"
                ),
                ("access-control-max-age", self.admits == nil ? "86400" : "600"),
            ]
        )
    }
}
