import Sessions
package import SignOn
import Vocabulary

/// The sessions of the requesting user, at Kratos's paths and in its formats.
package struct SessionListEndpoints: Sendable {
    private let users: UserSessions
    private let native: NativeSessionEndpoints

    /// - Parameter accessTokens: Finds the sessions of access tokens. `nil` if no access token is accepted.
    package init(users: UserSessions, accessTokens: AccessTokenSessions? = nil) {
        self.users = users
        self.native = NativeSessionEndpoints(sessions: users.sessions, accessTokens: accessTokens)
    }

    package var endpoints: [Endpoint] {
        [
            .kratos("/sessions", ["GET", "HEAD", "DELETE"], outlivesClient: true) { request in
                await self.asUser(request) { presented throws(NotDone) in
                    request.method == "DELETE"
                        ? try await self.endOthers(presented.found, request)
                        : try await self.list(presented.found, request)
                }
            },
            .kratos("/sessions/{id}", ["DELETE"], outlivesClient: true) { request in
                await self.asUser(request) { presented throws(NotDone) in try await self.end(presented, request) }
            },
            .kratos("/sessions/{id}/extend", ["PATCH"], outlivesClient: true) { request in
                await self.asUser(request) { presented throws(NotDone) in
                    try await self.extend(presented.found, request)
                }
            },
        ]
    }

    /// Answers as the user of the presented session. For unsafe methods, only a page of this host may send the cookie.
    private func asUser(
        _ request: EndpointRequest,
        _ answer: (PresentedSession) async throws(NotDone) -> EndpointResponse
    ) async -> EndpointResponse {
        do {
            let presented = try await self.native.presented(request)
            let session = presented.found.session
            // An actor neither sees nor ends the user's other sessions.
            guard session.actor == nil else {
                return Herodot.error(.requireActor, "Somebody acts for the user in this session.", to: request)
            }
            let isSafe = session.kind == .native || ["GET", "HEAD"].contains(request.method)
            guard isSafe || SameOrigin.isProven(request) else {
                await self.users.sessions.recordDenial(.requestCrossSite, for: request.requester)
                return Herodot.error(.requestCrossSite, "The request did not come from this site.", to: request)
            }
            var response = try await answer(presented)
            response.fields += presented.fields
            return response
        } catch {
            let text = "No valid session cookie found."
            return Herodot.refused(error, text, needing: APIDirectory.sessions, to: request)
        }
    }

    // MARK: List

    private static let maxPerPage = 250

    /// Answers `GET /sessions?page=&per_page=` with the user's other sessions. Pages begin with 1.
    private func list(_ current: FoundSession, _ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        let others = try await self.users.others(than: current)
        let size = Self.number("per_page", request).map { min(max($0, 1), Self.maxPerPage) } ?? Self.maxPerPage
        let page = max(Self.number("page", request) ?? 1, 1)
        let start = (page - 1).multipliedReportingOverflow(by: size)
        let shown = start.overflow ? [] : others.dropFirst(start.partialValue).prefix(size)
        let now = self.users.sessions.clock.now()
        var json = JSONWriter()
        json.array { json in
            for found in shown { SessionDocument.write(found.session, origin: request.origin, now: now, to: &json) }
        }
        return .json(
            200,
            json,
            fields: [
                ("x-total-count", String(others.count)), ("vary", "Cookie, Authorization, X-Session-Token"),
            ]
        )
    }

    private static func number(_ name: String, _ request: EndpointRequest) -> Int? {
        request.parameters(name).first.flatMap { $0.utf8.count <= 9 ? Int($0) : nil }
    }

    // MARK: End and extend

    /// Answers `DELETE /sessions`: ends all sessions of the user except those of the current sign-in.
    private func endOthers(
        _ current: FoundSession,
        _ request: EndpointRequest
    ) async throws(NotDone) -> EndpointResponse {
        let count = try await self.users.endOthers(than: current, for: request.requester)
        return .json(200, ["count": .integer(Int64(count))])
    }

    /// Returns the user's live session with this id. `nil` if none exists.
    private func named(
        _ id: String,
        _ current: FoundSession
    ) async throws(NotDone) -> FoundSession? {
        try await self.users.all(withUserOf: current).first {
            KratosID.uuid(.session, of: $0.session.id) == id
        }
    }

    /// Answers `DELETE /sessions/{id}` with 204, or with 400 for a session of the current sign-in. For a session that
    /// has ended or belongs to another user, the answer is 404 to an access token, and 204 to a session token or
    /// cookie, as in Kratos.
    private func end(
        _ presented: PresentedSession,
        _ request: EndpointRequest
    ) async throws(NotDone) -> EndpointResponse {
        guard let id = Self.id(request) else { return Self.malformedID(request) }
        let current = presented.found
        let found = try await self.named(id, current)
        let isOwn = found.map { $0.isSignIn(of: current) } ?? (id == KratosID.uuid(.session, of: current.session.id))
        guard !isOwn else {
            return Herodot.error(
                .requestParameters,
                "The current session cannot be revoked. Use the logout endpoint instead.",
                to: request,
                message: "cannot revoke current session"
            )
        }
        guard let found else { return presented.isByAccessToken ? Self.missing(request) : .noContent() }
        try await self.users.endOne(found, for: request.requester)
        return .noContent()
    }

    /// Answers `PATCH /sessions/{id}/extend` with the session. Only its idle timeout restarts, not its lifetime.
    private func extend(
        _ current: FoundSession,
        _ request: EndpointRequest
    ) async throws(NotDone) -> EndpointResponse {
        guard let id = Self.id(request) else { return Self.malformedID(request) }
        let isCurrent = id == KratosID.uuid(.session, of: current.session.id)
        guard let found = isCurrent ? current : try await self.named(id, current) else {
            return Self.missing(request)
        }
        try await self.users.touch(found)
        let now = self.users.sessions.clock.now()
        return .json(200, SessionDocument.document(found.session, origin: request.origin, now: now))
    }

    private static func id(_ request: EndpointRequest) -> String? {
        request.pathParameter("id").flatMap { UUIDText.bytes($0) == nil ? nil : $0.lowercased() }
    }

    private static func missing(_ request: EndpointRequest) -> EndpointResponse {
        Herodot.error(.sessionUnknown, "The session could not be found.", to: request, status: 404)
    }

    private static func malformedID(_ request: EndpointRequest) -> EndpointResponse {
        Herodot.error(.requestParameters, "The session id is not a UUID.", to: request)
    }
}
