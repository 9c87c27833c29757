import Sessions
import Settings
import SignOn
import Vocabulary

extension NativeFlowEndpoints {
    /// The spellings of Go's strconv.ParseBool, with which Kratos reads flags.
    private static func flag(_ name: String, _ request: EndpointRequest) -> Bool {
        ["1", "t", "T", "true", "TRUE", "True"].contains(request.parameters(name).first ?? "")
    }

    /// `GET /self-service/{login,registration}/api`: a new flow.
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
        // HEAD begins nothing that is kept.
        let hasCode =
            request.method == "GET"
            && (self.settings.dialect == .documented || Self.flag("return_session_token_exchange_code", request))
        let refresh = Self.flag("refresh", request)
        let schema = request.parameters("identity_schema").first { !$0.isEmpty }
        guard (schema?.utf8.count ?? 0) <= 128 else {
            return Herodot.error(.signInMalformed, "The identity_schema is not known.", to: request)
        }
        let aal = kind == .login ? request.parameters("aal").first { !["", "aal1"].contains($0) } : nil
        // As in Kratos, before it is asked who the app is.
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

    /// Why no login can begin for an app that is signed in already, or that asks for a level; nil: it can.
    ///
    /// - Parameter refresh: Whether a session is no obstacle.
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
        // Only a provider may be able to reach it, with the browser.
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
