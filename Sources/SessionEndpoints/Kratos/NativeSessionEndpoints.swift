package import Endpoints
internal import Sessions
package import SignIn
package import Vocabulary

/// Native sign-in, session look-up and sign-out at Kratos's own paths and in its formats: `ory-kratos-client` works
/// unmodified. Only `whoami` reads a cookie; none sets one.
package struct NativeSessionEndpoints: Sendable {
    private let passwords: PasswordSignIn
    private let cookies: RequestCookies
    private let flows: LoginFlows

    /// - Parameters:
    ///   - cookieName: The configured name of the session cookie.
    ///   - current: The deployment's secret; the key that signs flow ids is derived from it.
    ///   - accepted: Former secrets of the deployment; flows that began under one of them can still be finished.
    package init(passwords: PasswordSignIn, cookieName: String, current: Secret, accepted: [Secret] = []) {
        self.passwords = passwords
        self.cookies = RequestCookies(name: cookieName)
        self.flows = LoginFlows(current: current, accepted: accepted, clock: passwords.sessions.clock)
    }

    private var sessions: SessionService { self.passwords.sessions }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: LoginFlowDocument.path + "/api", methods: ["GET", "HEAD"], answer: self.initiate),
            Endpoint(path: LoginFlowDocument.path, methods: ["POST"], outlivesClient: true, answer: self.submit),
            Endpoint(
                path: "/sessions/whoami",
                methods: ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"],
                answer: self.whoami
            ),
            Endpoint(
                path: "/self-service/logout/api",
                methods: ["DELETE"],
                outlivesClient: true,
                answer: self.logout
            ),
        ]
    }

    /// `GET /self-service/login/api`: a new flow.
    @Sendable
    private func initiate(_ request: EndpointRequest) async -> EndpointResponse {
        // The spellings of Go's strconv.ParseBool, with which Kratos reads the parameter.
        let refresh = ["1", "t", "T", "true", "TRUE", "True"].contains(request.parameters("refresh").first ?? "")
        let isStepUp = !["", "aal1"].contains(request.parameters("aal").first ?? "")
        var missing = Reason.credentialMissing
        if isStepUp || !refresh, let token = request.credentials.sessionToken {
            do {
                switch try await self.sessions.native(token) {
                case .none(let reason): missing = reason
                case .session: return isStepUp ? Self.unreachableLevel(request) : Self.alreadySignedIn(request)
                }
            } catch {
                return Herodot.unavailable(SessionService.reason(error), to: request)
            }
        }
        guard !isStepUp else {
            return Herodot.error(
                missing,
                "Sign in with the first factor first.",
                to: request,
                id: "session_aal1_required",
                message: "aal2 and aal3 can only be requested if a session exists already"
            )
        }
        return .json(200, LoginFlowDocument.value(self.flows.issue(), origin: request.origin, refresh: refresh))
    }

    private static func alreadySignedIn(_ request: EndpointRequest) -> EndpointResponse {
        Herodot.error(
            .signInMalformed,
            "A valid session was detected and thus login is not possible. Did you forget to set `?refresh=true`?",
            to: request,
            id: "session_already_available",
            message: "you are already logged in"
        )
    }

    private static func unreachableLevel(_ request: EndpointRequest) -> EndpointResponse {
        Herodot.error(
            .signInMalformed,
            "The requested authenticator assurance level can not be reached by this sign-in.",
            to: request
        )
    }

    /// `POST /self-service/login?flow=`: exchanges a password for a session token.
    @Sendable
    private func submit(_ request: EndpointRequest) async -> EndpointResponse {
        let ids = request.parameters("flow")
        guard ids.count == 1 else {
            return Herodot.error(.signInMalformed, "The flow query parameter is missing or invalid.", to: request)
        }
        let flow: LoginFlow
        switch self.flows.recognise(ids[0]) {
        case .live(let live): flow = live
        case .expired(let expired): return self.expired(expired, request)
        case .unknown:
            return Herodot.error(.signInFlowUnknown, "The login flow could not be found.", to: request)
        }
        let form: BodyParameters
        do {
            form = try BodyParameters(request)
        } catch {
            return error == .mediaType
                ? Herodot.error(
                    .requestMediaType,
                    "Send application/json or application/x-www-form-urlencoded.",
                    to: request
                )
                : Herodot.error(.signInMalformed, "Unable to decode the request body.", to: request)
        }
        func complain(_ complaint: LoginFlowDocument.Complaint, _ reason: Reason) -> EndpointResponse {
            .json(
                Herodot.status(reason),
                LoginFlowDocument.value(
                    flow,
                    origin: request.origin,
                    complaint: complaint,
                    identifier: form.text("identifier") ?? ""
                ),
                reason: reason
            )
        }
        guard form.text("method") == "password" else { return complain(.method, .signInMalformed) }
        guard let identifier = form.text("identifier") else {
            return complain(.missing(property: "identifier"), .signInIncomplete)
        }
        guard let password = form.text("password") else {
            return complain(.missing(property: "password"), .signInIncomplete)
        }
        switch await self.passwords.signIn(
            identifier: identifier,
            password: Secret(password),
            kind: .native,
            for: self.cookies.requester(request)
        ) {
        case .refused:
            return complain(.credentials, .signInRefused)
        case .throttled(let wait):
            return Herodot.error(
                .signInThrottled,
                "Too many sign-in attempts. Please try again later.",
                to: request,
                retryAfter: wait
            )
        case .unavailable(let reason):
            return Herodot.unavailable(reason, to: request)
        case .signedIn(let token, let session):
            return .json(
                200,
                [
                    "session_token": .string(String(decoding: token.bytes, as: UTF8.self)),
                    "session": SessionDocument.value(session, origin: request.origin, now: self.sessions.clock.now()),
                ]
            )
        }
    }

    /// 410 with a new flow to continue with, as Kratos answers.
    private func expired(_ flow: LoginFlow, _ request: EndpointRequest) -> EndpointResponse {
        let since = self.sessions.clock.now().since(flow.expiresAt)
        return Herodot.error(
            .signInFlowExpired,
            "The self-service flow expired \(since.components.seconds / 60) minutes ago, initialize a new one.",
            to: request,
            id: "self_service_flow_expired",
            message: "self-service flow expired",
            beside: [
                "expired_at": .string(flow.expiresAt.rfc3339),
                // Go's time.Duration: nanoseconds.
                "since": .integer(since.wholeMilliseconds * 1_000_000),
                "use_flow_id": .string(self.flows.issue().id),
            ]
        )
    }

    /// `/sessions/whoami`: the session of `X-Session-Token`, else of the cookie, else of `Authorization: Bearer`. As in
    /// Kratos, a cookie that is not the gateway's is skipped; one that is the gateway's decides.
    @Sendable
    private func whoami(_ request: EndpointRequest) async -> EndpointResponse {
        if request.credentials.isRepeated {
            return Herodot.error(
                .credentialRepeated,
                "The credential stands in the request more than once.",
                to: request
            )
        }
        guard request.parameters("tokenize_as").isEmpty else {
            return Herodot.error(
                .requestParameters,
                "Unable to find the requested session tokenizer template.",
                to: request
            )
        }
        do {
            let presented: PresentedSession
            let requester = self.cookies.requester(request)
            if let token = request.credentials.sessionToken {
                presented = try await self.sessions.native(token)
            } else if requester.cookies.contains(where: self.sessions.isSessionSyntax) {
                presented = try await self.sessions.web(requester)
            } else if case .bearer(let token) = request.credentials.authorization, !token.bytes.isEmpty {
                presented = try await self.sessions.native(token)
            } else {
                presented = .none(.credentialMissing)
            }
            switch presented {
            case .none(let reason):
                return Self.unauthorized(reason, request)
            case .session(let found):
                return .json(
                    200,
                    SessionDocument.value(found.session, origin: request.origin, now: self.sessions.clock.now()),
                    fields: [
                        ("x-kratos-authenticated-identity-id", PercentCoding.encoded(found.session.subject)),
                        ("vary", "Cookie, Authorization, X-Session-Token"),
                    ]
                )
            }
        } catch {
            return Herodot.unavailable(SessionService.reason(error), to: request)
        }
    }

    /// One answer for a missing, an unknown, an expired and an ended session.
    private static func unauthorized(_ reason: Reason, _ request: EndpointRequest) -> EndpointResponse {
        Herodot.error(reason, "No valid session credentials found in the request.", to: request)
    }

    /// `DELETE /self-service/logout/api`: ends the session of the token in the body, and every session made from it. A
    /// token whose session has ended already gets the same answer as the first time; a token that names no session is
    /// forbidden, and so is a missing one.
    @Sendable
    private func logout(_ request: EndpointRequest) async -> EndpointResponse {
        guard let body = try? BodyParameters(request, accepting: [.json]),
            body["session_token"] == nil || body.text("session_token") != nil
        else {
            return Herodot.error(.requestParameters, "The body must be JSON with the text session_token.", to: request)
        }
        var reason: Reason? = .credentialMissing
        do {
            if let token = body.text("session_token") {
                reason = try await self.sessions.end(native: Secret(token), for: self.cookies.requester(request))
            }
        } catch {
            return Herodot.unavailable(SessionService.reason(error), to: request)
        }
        guard let reason else { return .noContent() }
        return Herodot.signOutForbidden(reason, to: request)
    }
}
