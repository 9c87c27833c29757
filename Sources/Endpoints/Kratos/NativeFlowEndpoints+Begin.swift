import Sessions
import Settings
import SignOn
import Vocabulary

extension NativeFlowEndpoints {
    /// Returns whether a flag is set, in the spellings of Go's strconv.ParseBool, which Kratos uses.
    private static func flag(_ name: String, _ request: EndpointRequest) -> Bool {
        ["1", "t", "T", "true", "TRUE", "True"].contains(request.parameters(name).first ?? "")
    }

    /// Answers `GET /self-service/{login,registration}/api` with a new flow.
    func initiate(_ request: EndpointRequest, _ kind: KeptFlow.Kind) async -> EndpointResponse {
        let returnTo = request.parameters("return_to").first { !$0.isEmpty }
        if let returnTo, !self.settings.allows(returnTo) {
            return Herodot.error(
                .signInReturnToForbidden,
                "The requested return_to URL is not allowed.",
                to: request,
                id: "self_service_flow_return_to_forbidden"
            )
        }
        // HEAD must not begin a stored flow.
        let hasCode =
            request.method == "GET"
            && (self.settings.dialect == .documented || Self.flag("return_session_token_exchange_code", request))
        let refresh = Self.flag("refresh", request)
        let schema = request.parameters("identity_schema").first { !$0.isEmpty }
        guard (schema?.utf8.count ?? 0) <= 128 else {
            return Herodot.error(.signInMalformed, "The identity_schema is not known.", to: request)
        }
        let aal = kind == .login ? request.parameters("aal").first { !["", "aal1"].contains($0) } : nil
        // As in Kratos, this check comes before the session is looked up.
        guard aal.map({ aal in AssuranceLevel.demandable.contains { $0.rawValue == aal } }) ?? true else {
            return Herodot.error(
                .signInMalformed,
                "Unable to parse the authenticator assurance level (aal).",
                to: request
            )
        }
        if kind == .login, let refusal = await self.objection(request, refresh: refresh || hasCode, aal, hasCode) {
            return refusal
        }
        let flow = self.flows(kind).issue(isKept: hasCode)
        guard hasCode else {
            return .json(200, self.document(flow, nil, request, refresh: refresh, returnTo: returnTo).value())
        }
        let wish = FlowWish(
            kind: kind,
            returnTo: returnTo,
            demand: SignInDemand(isAgain: refresh, aal: aal.map { AssuranceLevel(named: $0) }),
            schema: schema
        )
        do throws(NotDone) {
            let (kept, code) = try await self.native.begin(wish, id: flow.id, for: request.requester)
            var document = self.document(flow, kept, request)
            document.code = code
            return .json(200, document.value())
        } catch {
            return Herodot.notDone(error, to: request) ?? Herodot.unavailable(error.reason, to: request)
        }
    }

    /// Returns a refusal if an app that is signed in, or asks for a level, cannot begin a login. `nil` if it can.
    ///
    /// - Parameter refresh: Whether a login may begin even with a session.
    private func objection(
        _ request: EndpointRequest,
        refresh: Bool,
        _ aal: String?,
        _ hasCode: Bool
    ) async -> EndpointResponse? {
        var missing = Reason.credentialMissing
        if aal != nil || !refresh, let token = request.credentials.explicitToken {
            do {
                _ = try await self.sessions.native(token)
                return self.objectionToSignedIn(request, demandsLevel: aal != nil, hasCode)
            } catch {
                if error.isUnavailable { return Herodot.unavailable(error.reason, to: request) }
                missing = error.reason
            }
        }
        guard aal != nil else { return nil }
        return Herodot.error(
            missing,
            "Sign in with the first factor first.",
            to: request,
            id: "session_aal1_required",
            message: "aal2 and aal3 can only be requested if a session exists already"
        )
    }

    private func objectionToSignedIn(
        _ request: EndpointRequest,
        demandsLevel: Bool,
        _ hasCode: Bool
    ) -> EndpointResponse? {
        guard demandsLevel else {
            return Herodot.error(
                .signInMalformed,
                "A valid session was detected and thus login is not possible. Did you forget to set `?refresh=true`?",
                to: request,
                id: "session_already_available",
                message: "you are already logged in"
            )
        }
        // Only a sign-in at a provider, with the browser, could reach the level.
        guard self.passwords == nil, hasCode else {
            return Herodot.error(
                .signInMalformed,
                "The requested authenticator assurance level can not be reached by this sign-in.",
                to: request
            )
        }
        return nil
    }
}
