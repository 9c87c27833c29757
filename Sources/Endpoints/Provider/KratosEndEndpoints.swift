import Calls
package import Providers
import Sessions
package import SignOn
import Vocabulary

/// Kratos's endpoints that end sessions or report that a session has ended. The gateway passes requests and answers on
/// (`KratosRelay`). Before it answers, it ends what came from the sessions that Kratos ended, on every gateway: tokens,
/// cookies, transferred sessions, unused transfer tokens and open streams.
///
/// If the store cannot confirm the end, the answer is 503. Kratos refuses the app's retry, because the session is gone.
/// After a refusal, the gateway therefore asks Kratos about the token again.
package struct KratosEndEndpoints: Sendable {
    private let kratos: KratosProvider
    private let ends: ForwardedSignOuts

    /// - Parameter sessions: The sessions of users who sign in at Kratos.
    package init(kratos: KratosProvider, sessions: SessionService) {
        self.kratos = kratos
        self.ends = ForwardedSignOuts(sessions: sessions, provider: kratos.name)
    }

    package var endpoints: [Endpoint] {
        [
            self.endpoint(KratosProvider.nativeLogoutPath, self.signOutApp),
            self.endpoint(KratosProvider.browserLogoutPath, self.signOutBrowser),
            self.endpoint(KratosProvider.sessionsPath, self.endOthers),
            self.endpoint(KratosProvider.sessionPath, self.endOne),
            self.endpoint(KratosProvider.whoamiPath, self.tellOwner),
        ]
    }

    private func endpoint(
        _ path: String,
        _ answer: @escaping @Sendable (EndpointRequest) async throws(NotDone) -> EndpointResponse
    ) -> Endpoint {
        Endpoint(
            path: path,
            methods: KratosProvider.ends[path] ?? [],
            outlivesClient: true,
            envelope: Herodot.envelope,
            passesOn: true
        ) { request in
            do throws(NotDone) {
                return try await answer(request)
            } catch {
                return Herodot.notDone(error, to: request) ?? Herodot.unavailable(error.reason, to: request)
            }
        }
    }

    // MARK: Sign-out

    /// Answers `DELETE /self-service/logout/api`. Kratos answers 204 if it ended the token, and 403 if it does not know
    /// the token. After 403, the gateway asks Kratos again if the token is live here.
    @Sendable
    private func signOutApp(_ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        guard let tokens = Self.tokens(in: request.body), tokens.count <= 1 else {
            return Herodot.error(.requestParameters, "The body must be JSON with one text session_token.", to: request)
        }
        guard let token = tokens.first else { return KratosRelay.response(try await self.pass(request)) }
        let kept = try await self.ends.kept(token)
        let answer = try await self.pass(request)
        if (200..<300).contains(answer.status) {
            try await self.ends.end(token, of: kept, for: request.requester.withoutCookies)
        } else if answer.status == 403, kept != nil {
            try await self.ends.recheck(token, as: .native)
        }
        return KratosRelay.response(answer)
    }

    /// Returns the tokens in a logout's body. Names may have any letter case. `nil` if the body is no object.
    private static func tokens(in body: [UInt8]) -> [Secret]? {
        guard case .object(let members)? = JSONText.decode(body) else { return nil }
        return members.filter { $0.key.uppercased() == "SESSION_TOKEN" }.compactMap(\.value.string).map { Secret($0) }
    }

    /// Answers `GET /self-service/logout?token=`. Kratos redirects even if it refuses, so a session has ended only if
    /// Kratos no longer knows it.
    @Sendable
    private func signOutBrowser(_ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        let credentials = Self.credentials(of: request)
        let holder = credentials.isEmpty ? .nobody : await self.kratos.holder(credentials)
        let answer = try await self.pass(request)
        guard (200..<400).contains(answer.status) else { return KratosRelay.response(answer) }
        if case .known(let session, let user) = holder {
            switch await self.kratos.holder(credentials, wasKnown: true) {
            case .nobody: try await self.ends.end([session], of: user, as: .web, for: request.requester.withoutCookies)
            case .known, .hidden: return KratosRelay.response(answer)
            case .unavailable: throw NotDone(.providerUnavailable)
            }
        }
        for (token, kind) in Self.presented(by: request) { try await self.ends.recheck(token, as: kind) }
        return KratosRelay.response(answer)
    }

    // MARK: Other sessions

    /// Answers `DELETE /sessions`: 200 with a count. Before it passes on the request, the gateway collects what to end:
    /// Kratos's list of the user's other sessions, and the user's lineages here that came from other sessions.
    @Sendable
    private func endOthers(_ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        guard let (session, user) = try await self.caller(request) else {
            return KratosRelay.response(try await self.pass(request))
        }
        let presented = Self.presented(by: request).map(\.token)
        let lineages = try await self.ends.lineages(of: user, besides: session, presented)
        let others = await self.otherSessions(request).subtracting([session])
        let answer = try await self.pass(request)
        if (200..<300).contains(answer.status) {
            try await self.ends.end(others, lineages: lineages, of: user, for: request.requester.withoutCookies)
        }
        return KratosRelay.response(answer)
    }

    /// Answers `DELETE /sessions/{id}`. Kratos answers 204 even for another user's session, and does not end it. The
    /// gateway therefore ends a session only if Kratos lists it for the caller, or if the caller's sessions or tokens
    /// here came from it.
    @Sendable
    private func endOne(_ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        guard let id = Self.id(request.pathParameter("id") ?? ""), let (session, user) = try await self.caller(request),
            id != session
        else { return KratosRelay.response(try await self.pass(request)) }
        var isCallers = try await self.ends.isKnown(id, of: user)
        if !isCallers { isCallers = await self.otherSessions(request).contains(id) }
        let answer = try await self.pass(request)
        if isCallers, (200..<300).contains(answer.status) {
            try await self.ends.end([id], of: user, for: request.requester.withoutCookies)
        }
        return KratosRelay.response(answer)
    }

    /// Returns an id as Kratos writes it, from any form that Kratos accepts. `nil` if the text is not an id.
    private static func id(_ text: String) -> String? {
        var text = text.lowercased()
        if text.hasPrefix("urn:uuid:") { text.removeFirst(9) }
        let digits = Array(text.utf8.filter { !"{}-".utf8.contains($0) })
        guard digits.count == 32 else { return nil }
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return UUIDText.bytes(groups.joined(separator: "-")).map(UUIDText.text)
    }

    /// Returns Kratos's ids of the caller's other sessions.
    private func otherSessions(_ request: EndpointRequest) async -> Set<String> {
        await self.kratos.otherSessions(Self.credentials(of: request))
    }

    /// Returns the session that the request presents, and its user. `nil` if Kratos names no session.
    private func caller(_ request: EndpointRequest) async throws(NotDone) -> (session: String, user: String)? {
        switch await self.kratos.holder(Self.credentials(of: request)) {
        case .known(let session, let user): return (session, user)
        case .nobody, .hidden: return nil
        case .unavailable: throw NotDone(.providerUnavailable)
        }
    }

    /// Answers `GET /sessions/whoami`. After 401, the gateway asks Kratos about a session that is live here. If this
    /// fails, the next use of the session asks again.
    @Sendable
    private func tellOwner(_ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        let answer = try await self.pass(request)
        if answer.status == 401 {
            for (token, kind) in Self.presented(by: request) { try? await self.ends.recheck(token, as: kind) }
        }
        return KratosRelay.response(answer)
    }

    // MARK: Passing on

    /// Passes the request on to Kratos.
    ///
    /// - Throws: `provider.unavailable` if there is no answer. Kratos may still have processed the request.
    private func pass(_ request: EndpointRequest) async throws(NotDone) -> CallAnswer {
        guard let passed = request.passedOn else { throw NotDone(.providerUnavailable) }
        let answer = await self.kratos.pass(
            // Kratos treats HEAD as GET, and the listener drops the body.
            request.method == "HEAD" ? "GET" : request.method,
            passed.target,
            fields: KratosRelay.fields(of: request) + passed.credentials,
            body: request.body
        )
        guard let answer else { throw NotDone(.providerUnavailable) }
        return answer
    }

    /// Returns the fields with which Kratos finds the caller's session.
    private static func credentials(of request: EndpointRequest) -> [(name: String, value: String)] {
        (request.passedOn?.credentials ?? []) + request.fields.filter { $0.name == "x-session-cookie" }
    }

    /// Returns the tokens and cookies of the request that may be Kratos's.
    private static func presented(by request: EndpointRequest) -> [(token: Secret, kind: Session.Kind)] {
        var presented = request.credentials.providerCookies.map { (token: $0, kind: Session.Kind.web) }
        if let token = request.credentials.sessionToken { presented.append((token, .native)) }
        if case .bearer(let token) = request.credentials.authorization { presented.append((token, .native)) }
        return presented
    }
}
