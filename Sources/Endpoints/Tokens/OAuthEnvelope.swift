import Vocabulary

extension OAuthError {
    /// Refusals before an endpoint runs, as OAuth's clients parse them (RFC 6749 5.2). They keep the status of the reason
    /// table, because it says more than 400, and no client looks for a grant's error in them.
    static let envelope: RefusalEnvelope = { reason, _ in
        let code =
            switch reason.status {
            // The codes of the authorization endpoint (RFC 6749 4.1.2.1), where the token endpoint has none.
            case 403: "access_denied"
            case 429: Code.tooManyRequests.rawValue
            case 503: Code.temporarilyUnavailable.rawValue
            case 500...: "server_error"
            default: Code.invalidRequest.rawValue
            }
        return .json(
            reason.status,
            ["error": .string(code), "error_description": .string(StatusText.phrase(reason.status))],
            fields: TokenAnswer.fields,
            reason: reason
        )
    }
}

extension Endpoint {
    /// An endpoint for OAuth's clients: they are refused in their own format, by the handler and before it runs.
    static func oauth(
        _ path: String,
        outlivesClient: Bool = false,
        answer: @escaping @Sendable (EndpointRequest) async throws(OAuthError) -> EndpointResponse
    ) -> Endpoint {
        Endpoint(path: path, methods: ["POST"], outlivesClient: outlivesClient, envelope: OAuthError.envelope) {
            request in
            do throws(OAuthError) {
                return try await answer(request)
            } catch {
                return error.response
            }
        }
    }
}
