import Vocabulary

extension OAuthError {
    /// Writes refusals outside of the handlers in the format that OAuth clients parse (RFC 6749 5.2). The status is the
    /// status of the reason, which is more precise than 400.
    static let envelope: RefusalEnvelope = { reason, _ in
        let code =
            switch reason.status {
            // Codes of the authorization endpoint (RFC 6749 4.1.2.1), as the token endpoint has no codes for them.
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
    /// Returns an endpoint for OAuth clients. All its refusals have the format that OAuth clients parse.
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
