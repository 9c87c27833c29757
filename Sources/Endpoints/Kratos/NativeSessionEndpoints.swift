package import Sessions
package import SignOn
import Vocabulary

/// Look-up and sign-out of native sessions at Kratos's paths and in its formats. `ory-kratos-client` works unmodified.
/// Only `whoami` reads a cookie, and no endpoint sets one.
package struct NativeSessionEndpoints: Sendable {
    private let sessions: SessionService
    /// The service that finds the sessions for `whoami`.
    private let shown: SessionService
    private let accessTokens: AccessTokenSessions?

    /// - Parameters:
    ///   - resolvers: The resolvers that find the sessions for `whoami`. `nil` to read each session from the store.
    ///   - accessTokens: Finds the sessions of access tokens. `nil` if no access token is accepted.
    package init(
        sessions: SessionService,
        resolvers: SessionResolvers? = nil,
        accessTokens: AccessTokenSessions? = nil
    ) {
        self.sessions = sessions
        self.shown = sessions.showing(resolvers)
        self.accessTokens = accessTokens
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
    /// `Authorization`. The first that is present decides. As in Kratos, a cookie that is not the gateway's is skipped.
    /// An access token of the gateway must have the scope `openid`.
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
            let presented = try await self.presented(request, with: APIDirectory.openID, in: self.shown)
            let session = presented.found.session
            return .json(
                200,
                SessionDocument.document(session, origin: request.origin, now: self.sessions.clock.now()),
                fields: [
                    ("x-kratos-authenticated-identity-id", PercentCoding.encoded(session.identity.id)),
                    ("vary", "Cookie, Authorization, X-Session-Token"),
                ] + presented.fields
            )
        } catch {
            // Missing, unknown, expired and ended sessions get one answer.
            let text = "No valid session credentials found in the request."
            return Herodot.refused(error, text, needing: APIDirectory.openID, to: request)
        }
    }

    /// Returns the live session that the request presents, read from the store, for listing and ending sessions. An
    /// access token, even of the provider, must have the scope `sessions`: apps also show access tokens to APIs.
    ///
    /// - Throws: The causes that `Herodot.refused` turns into answers.
    func presented(_ request: EndpointRequest) async throws -> PresentedSession {
        let presented = try await self.presented(request, with: APIDirectory.sessions, in: self.sessions)
        let found = presented.found
        guard found.key.kind != .foreignSession || found.session.scopes.contains(APIDirectory.sessions) else {
            throw NotDone(.requireScopes)
        }
        return presented
    }

    /// - Parameter scope: The scope that an access token of the gateway must have.
    private func presented(
        _ request: EndpointRequest,
        with scope: String,
        in sessions: SessionService
    ) async throws -> PresentedSession {
        let requester = request.requester
        let token: Secret
        if let explicit = request.credentials.sessionToken {
            token = explicit
        } else if requester.cookies.contains(where: sessions.isSessionSyntax) {
            return PresentedSession(found: try await sessions.web(requester))
        } else {
            switch request.credentials.authorization {
            case .bearer(let bearer) where !bearer.bytes.isEmpty: token = bearer
            // Only access tokens can be bound to a key.
            case .dpop(let bound) where TokenAuthority.isWellFormed(.access, bound.bytes): token = bound
            default: throw NotDone(.credentialMissing)
            }
        }
        guard let accessTokens = self.accessTokens, TokenAuthority.isWellFormed(.access, token.bytes) else {
            return PresentedSession(found: try await sessions.native(token))
        }
        return try await accessTokens.session(of: token, with: scope, in: request, by: sessions)
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
