internal import Settings
internal import SignOn
internal import Vocabulary

/// The end of a sign-in with the browser.
extension NativeFlowEndpoints {
    /// `GET /sessions/token-exchange?init_code=&return_to_code=`.
    var exchangeEndpoint: Endpoint {
        Endpoint(
            path: "/sessions/token-exchange",
            methods: ["GET"],
            outlivesClient: true,
            envelope: Herodot.envelope,
            answer: self.exchange
        )
    }

    /// A session token for the code that the app kept and the one that the browser brought back; 422 with the flow if the
    /// user has not signed in; one answer for codes that are unknown, expired, mixed up or used.
    @Sendable
    private func exchange(_ request: EndpointRequest) async -> EndpointResponse {
        let refusals = ExchangeRefusals(dialect: self.settings.dialect, request: request)
        let codes = ["init_code", "return_to_code"].map { name in
            let values = request.parameters(name)
            return values.count == 1 ? values[0] : ""
        }
        guard !codes.contains("") else { return refusals.incomplete }
        let requester = request.requester
        do throws(NotDone) {
            switch try await self.native.exchange(Secret(codes[0]), Secret(codes[1]), for: requester) {
            case .exchanged(let begun): return self.signedIn(begun, request)
            case .ended: return refusals.ended(.exchangeUnknown)
            case .notSignedIn(let id, let kept):
                guard let flow = self.flow(id, kept.kind) else { return refusals.refused(.exchangeUnknown) }
                return refusals.notSignedIn(self.document(flow, kept, request))
            }
        } catch {
            return Herodot.notDone(error, to: request) ?? refusals.refused(error.reason)
        }
    }
}

/// The refusals of an exchange, in the words of the description that the operator's apps follow.
private struct ExchangeRefusals {
    let dialect: ExchangeSettings.Dialect
    let request: EndpointRequest

    /// A code is missing.
    var incomplete: EndpointResponse {
        switch self.dialect {
        case .current:
            Herodot.error(
                .requestParameters,
                #""init_code" and "return_to_code" query params must be set"#,
                to: self.request
            )
        case .documented:
            Herodot.error(
                .requestParameters,
                "init_code and return_to_code query params must be set",
                to: self.request,
                id: "bad_request"
            )
        }
    }

    /// Codes that are unknown, unfinished, expired, mixed up or used.
    func refused(_ reason: Reason) -> EndpointResponse {
        switch self.dialect {
        case .current: self.current(reason)
        case .documented: self.documented(reason, status: 403, id: "forbidden")
        }
    }

    /// Codes whose session has ended.
    func ended(_ reason: Reason) -> EndpointResponse {
        switch self.dialect {
        case .current: self.current(reason)
        case .documented: self.documented(reason, status: 404, id: "not_found")
        }
    }

    /// Codes whose sign-in has failed.
    func notSignedIn(_ flow: FlowDocument) -> EndpointResponse {
        switch self.dialect {
        case .current: .json(422, flow.value(), reason: .exchangeNotSignedIn)
        case .documented: self.ended(.exchangeNotSignedIn)
        }
    }

    private func current(_ reason: Reason) -> EndpointResponse {
        Herodot.error(reason, #"no session yet for this "code""#, to: self.request)
    }

    private func documented(_ reason: Reason, status: Int, id: String) -> EndpointResponse {
        Herodot.error(reason, "no session yet for this code", to: self.request, id: id, status: status)
    }
}
