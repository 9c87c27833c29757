package import Sessions
package import SignOn
import Vocabulary

/// Look-up and sign-out of native sessions at Kratos's own paths and in its formats: `ory-kratos-client` works unmodified.
/// Only `whoami` reads a cookie; none sets one.
package struct NativeSessionEndpoints: Sendable {
    private let sessions: SessionService
    /// Finds the sessions that are shown.
    private let shown: SessionService

    /// - Parameter resolvers: Find the sessions that `whoami` shows; nil: each is read from the store.
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

    /// `/sessions/whoami`: the session of `X-Session-Token`, else of the cookie, else of `Authorization: Bearer`. As in
    /// Kratos, a cookie that is not the gateway's is skipped; one that is the gateway's decides.
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
            // One answer for a missing, an unknown, an expired and an ended session.
            return Herodot.notDone(error, to: request)
                ?? Herodot.error(error.reason, "No valid session credentials found in the request.", to: request)
        }
    }

    /// The live session that the request presents, as the store has it now.
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

    /// `DELETE /self-service/logout/api`: ends the session of the token in the body, and every session made from it. A
    /// token whose session has ended already gets the same answer as the first time; a token that never named a session is
    /// forbidden, and so is a missing one.
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
