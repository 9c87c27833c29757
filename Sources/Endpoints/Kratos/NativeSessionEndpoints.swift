package import Sessions
package import SignOn
import Vocabulary

/// Look-up and sign-out of native sessions at Kratos's paths and in its formats. `ory-kratos-client` works unmodified.
/// Only `whoami` reads a cookie, and no endpoint sets one.
package struct NativeSessionEndpoints: Sendable {
    private let sessions: SessionService
    /// The service that finds the sessions for `whoami`.
    private let shown: SessionService

    /// - Parameter resolvers: The resolvers that find the sessions for `whoami`. `nil` to read each from the store.
    package init(sessions: SessionService, resolvers: SessionResolvers? = nil) {
        self.sessions = sessions
        self.shown = sessions.showing(resolvers)
    }

    package var endpoints: [Endpoint] {
        [
            .kratos(
                "/sessions/whoami",
                ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"],
                answer: self.whoami
            ),
            .kratos("/self-service/logout/api", ["DELETE"], outlivesClient: true, answer: self.logout),
        ]
    }

    /// Answers `/sessions/whoami` with the session of `X-Session-Token`, otherwise of the cookie, otherwise of
    /// `Authorization: Bearer`. The first decides. As in Kratos, a cookie that is not the gateway's is skipped.
    @Sendable
    private func whoami(_ request: EndpointRequest) async -> EndpointResponse {
        guard request.parameters("tokenize_as").isEmpty else {
            return Herodot.error(
                .requestParameters,
                "Unable to find the requested session tokenizer template.",
                to: request
            )
        }
        do {
            let found = try await self.presented(request, in: self.shown)
            return .json(
                200,
                SessionDocument.document(found.session, origin: request.origin, now: self.sessions.clock.now()),
                fields: [
                    ("x-kratos-authenticated-identity-id", PercentCoding.encoded(found.session.identity.id)),
                    ("vary", "Cookie, Authorization, X-Session-Token"),
                ]
            )
        } catch {
            // Missing, unknown, expired and ended sessions get one answer.
            return Herodot.notDone(error, to: request)
                ?? Herodot.error(error.reason, "No valid session credentials found in the request.", to: request)
        }
    }

    /// Returns the live session that the request presents, read from the store.
    func presented(_ request: EndpointRequest) async throws(NotDone) -> FoundSession {
        try await self.presented(request, in: self.sessions)
    }

    private func presented(
        _ request: EndpointRequest,
        in sessions: SessionService
    ) async throws(NotDone) -> FoundSession {
        let requester = request.requester
        if let token = request.credentials.sessionToken { return try await sessions.native(token) }
        if requester.cookies.contains(where: sessions.isSessionSyntax) { return try await sessions.web(requester) }
        guard case .bearer(let token) = request.credentials.authorization, !token.bytes.isEmpty else {
            throw NotDone(.credentialMissing)
        }
        return try await sessions.native(token)
    }

    /// Answers `DELETE /self-service/logout/api`: ends the session of the token in the body, and every session made
    /// from it. A token whose session has ended gets 204 again. A missing token, or one that never named a session,
    /// gets 403.
    @Sendable
    private func logout(_ request: EndpointRequest) async -> EndpointResponse {
        let body: BodyParameters
        let wanted = "The body must be JSON with the text session_token."
        do throws(BodyParameters.Failure) {
            body = try BodyParameters(request, accepting: [.json])
        } catch {
            let text = error == .mediaType ? wanted : "\(wanted) \(error.sentence)"
            return Herodot.error(.requestParameters, text, to: request)
        }
        guard body["session_token"] == nil || body.text("session_token") != nil else {
            return Herodot.error(.requestParameters, wanted, to: request)
        }
        do throws(NotDone) {
            guard let token = body.text("session_token") else { throw NotDone(.credentialMissing) }
            try await self.sessions.signOutApp(Secret(token), for: request.requester)
            return .noContent()
        } catch {
            // Kratos answers 403 for every token that names no session, whatever the cause.
            let text = "The provided Ory Session Token could not be found, is invalid, or otherwise malformed."
            return Herodot.notDone(error, to: request)
                ?? Herodot.error(error.reason, text, to: request, status: 403)
        }
    }
}
