import Sessions
import Settings
package import SignOn
package import Vocabulary

/// Sign-in of native apps at Kratos's paths and in its formats. `ory-kratos-client` works unmodified.
///
/// ```
/// GET  /self-service/login/api       a new flow, with an exchange code if the app asks for one
/// POST /self-service/login?flow=     a password or id_token for a session token, or a provider for the browser's URL
/// GET  /self-service/login/flows?id= the flow again, with the messages of a failed sign-in
/// ```
/// The paths with `registration` instead of `login` sign users in as well. The provider creates unknown users.
package struct NativeFlowEndpoints: Sendable {
    let native: NativeSignIns
    let idTokens: IDTokenSignIns
    let passwords: PasswordSignIn?
    private let login: KratosFlows
    private let registration: KratosFlows

    /// - Parameters:
    ///   - passwords: Checks passwords. `nil` if users sign in at a provider only.
    ///   - current: The deployment's secret. The key that signs flow ids is derived from it.
    ///   - accepted: Former secrets of the deployment. Flows that began under one of them can still be finished.
    package init(
        native: NativeSignIns,
        passwords: PasswordSignIn?,
        idTokens: IDTokenSignIns,
        current: Secret,
        accepted: [Secret] = []
    ) {
        self.native = native
        self.passwords = passwords
        self.idTokens = idTokens
        let clock = native.sessions.clock
        self.login = KratosFlows(.login, current: current, accepted: accepted, clock: clock)
        self.registration = KratosFlows(.registration, current: current, accepted: accepted, clock: clock)
    }

    package var endpoints: [Endpoint] {
        KeptFlow.Kind.allCases.flatMap { kind in
            let path = FlowDocument.path(kind)
            return [
                Endpoint.kratos("\(path)/api", ["GET", "HEAD"]) { await self.initiate($0, kind) },
                Endpoint.kratos("\(path)/flows", ["GET", "HEAD"]) { await self.fetch($0, kind) },
                Endpoint.kratos(path, ["GET", "POST"], outlivesClient: true) { await self.submit($0, kind) },
            ]
        } + [self.exchangeEndpoint, Self.others]
    }

    /// Kratos's other flows, e.g. settings and recovery. The gateway does not support them. Requests get 404 and do not
    /// reach the app.
    private static let others = Endpoint.kratos(
        "/self-service/**",
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    ) { request in
        Herodot.error(.routeNotFound, "This gateway does not support this flow of Kratos.", to: request)
    }

    var sessions: SessionService { self.native.sessions }
    var settings: ExchangeSettings { self.native.settings }

    func flows(_ kind: KeptFlow.Kind) -> KratosFlows { kind == .login ? self.login : self.registration }

    /// Returns the flow with this id, expired or not. `nil` if the gateway did not issue the id.
    func flow(_ id: String, _ kind: KeptFlow.Kind) -> KratosFlow? { self.flows(kind).recognise(id) }

    // MARK: Documents

    func document(
        _ flow: KratosFlow,
        _ kept: KeptFlow?,
        _ request: EndpointRequest,
        refresh: Bool = false,
        returnTo: String? = nil
    ) -> FlowDocument {
        FlowDocument(
            flow: flow,
            kept: kept,
            origin: request.origin,
            hasPassword: self.passwords != nil && flow.kind == .login,
            // Without a code the app could not learn the result of the sign-in.
            providers: kept == nil ? [] : self.settings.providers,
            refresh: refresh,
            returnTo: returnTo
        )
    }

    /// Answers `GET /self-service/{login,registration}/flows?id=`.
    private func fetch(_ request: EndpointRequest, _ kind: KeptFlow.Kind) async -> EndpointResponse {
        await self.found(request, kind, in: "id") { flow, kept in
            .json(200, self.document(flow, kept, request).value())
        }
    }

    /// Calls `answer` with the flow whose id is in the query parameter `name`, or returns a refusal.
    private func found(
        _ request: EndpointRequest,
        _ kind: KeptFlow.Kind,
        in name: String,
        then answer: (KratosFlow, KeptFlow?) async -> EndpointResponse
    ) async -> EndpointResponse {
        guard let id = request.only(name) else {
            return Herodot.error(.signInMalformed, "The \(name) query parameter is missing or invalid.", to: request)
        }
        guard let flow = self.flow(id, kind) else {
            return Herodot.error(.signInFlowUnknown, "The \(kind.rawValue) flow could not be found.", to: request)
        }
        do {
            guard flow.isKept else {
                guard !flow.isExpired(at: self.sessions.clock.now()) else {
                    return try await self.expired(flow, nil, request)
                }
                return await answer(flow, nil)
            }
            let kept = try await self.native.flow(flow.id)
            guard let kept, !self.native.isExpired(kept) else { return try await self.expired(flow, kept, request) }
            return await answer(flow, kept)
        } catch {
            return Herodot.unavailable(error.reason, to: request)
        }
    }

    /// Answers 410 with a new flow to continue with, as Kratos does. The app's exchange code is valid for the new flow,
    /// unless the state of the expired flow is gone.
    private func expired(
        _ flow: KratosFlow,
        _ kept: KeptFlow?,
        _ request: EndpointRequest
    ) async throws(NotDone) -> EndpointResponse {
        let next = self.flows(flow.kind).issue(isKept: kept != nil)
        if let kept { try await self.native.renew(kept, id: next.id) }
        let now = self.sessions.clock.now()
        // The state may be gone early, because a restarted store may lose it.
        let end = kept?.expiresAt ?? (flow.isKept ? self.native.end(ofFlowFrom: flow.issuedAt) : flow.expiresAt)
        let since = max(.zero, now.since(end))
        return Herodot.error(
            .signInFlowExpired,
            kept == nil && end > now
                ? "The self-service flow is not known any more, initialize a new one."
                : "The self-service flow expired \(Self.minutes(since)) minutes ago, initialize a new one.",
            to: request,
            id: "self_service_flow_expired",
            message: "self-service flow expired",
            beside: [
                "expired_at": .string(min(end, now).rfc3339),
                // Go's time.Duration: nanoseconds.
                "since": .integer(since.wholeMilliseconds.multipliedWithinBounds(by: 1_000_000)),
                "use_flow_id": .string(next.id),
            ]
        )
    }

    /// Returns the minutes with two decimals, as Kratos writes them.
    private static func minutes(_ duration: Duration) -> String {
        let hundredths = duration.wholeMilliseconds / 600
        return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
    }

    // MARK: Submit

    /// Answers `POST /self-service/{login,registration}?flow=` of an app, and GET of a browser (`open`).
    private func submit(_ request: EndpointRequest, _ kind: KeptFlow.Kind) async -> EndpointResponse {
        await self.found(request, kind, in: "flow") { flow, kept in
            var document = self.document(flow, kept, request)
            guard request.method == "POST" else { return await self.open(request, document) }
            // The app may have kept only the flow from the last answer, so every answer contains the code.
            document.code = kept?.appCode
            let form: BodyParameters
            do throws(BodyParameters.Failure) {
                form = try BodyParameters(request)
            } catch {
                return error == .mediaType
                    ? Herodot.error(
                        .requestMediaType,
                        "Send application/json or application/x-www-form-urlencoded.",
                        to: request
                    )
                    : Herodot.error(
                        .signInMalformed,
                        "Unable to decode the request body. \(error.sentence)",
                        to: request
                    )
            }
            switch form.text("method") ?? (form.text("provider") == nil ? nil : "oidc") {
            case "password" where document.hasPassword: return await self.submitPassword(request, form, document)
            case "oidc" where form["id_token"] != nil: return await self.submitIDToken(request, form, document)
            case "oidc": return await self.sendBrowser(request, to: form.text("provider"), document)
            default: return Self.complain(.method, .signInMalformed, document)
            }
        }
    }

    /// Answers with the flow and the complaint. The exchange code stays valid.
    static func complain(
        _ complaint: FlowDocument.Complaint,
        _ reason: Reason,
        _ document: FlowDocument,
        showing identifier: String = ""
    ) -> EndpointResponse {
        var document = document
        document.complaint = complaint
        document.identifier = identifier
        return .json(Herodot.status(reason), document.value(), reason: reason)
    }

    /// Exchanges a password for a session token.
    private func submitPassword(
        _ request: EndpointRequest,
        _ form: BodyParameters,
        _ document: FlowDocument
    ) async -> EndpointResponse {
        func complain(_ complaint: FlowDocument.Complaint, _ reason: Reason) -> EndpointResponse {
            Self.complain(complaint, reason, document, showing: form.text("identifier") ?? "")
        }
        guard let passwords else { return complain(.method, .signInMalformed) }
        guard let identifier = form.text("identifier") else {
            return complain(.missing(property: "identifier"), .signInIncomplete)
        }
        guard let password = form.text("password") else {
            return complain(.missing(property: "password"), .signInIncomplete)
        }
        do throws(NotDone) {
            let (token, session) = try await passwords.signIn(
                identifier: identifier,
                password: Secret(password),
                kind: .native,
                for: request.requester
            )
            return self.signedIn(token, session, request)
        } catch {
            return Herodot.notDone(error, to: request) ?? complain(.credentials, error.reason)
        }
    }

    /// Returns 200 with the session and its token.
    func signedIn(_ token: Secret, _ session: Session, _ request: EndpointRequest) -> EndpointResponse {
        let now = self.sessions.clock.now()
        return .json(200, SessionDocument.signedIn(token, session, origin: request.origin, now: now))
    }
}
