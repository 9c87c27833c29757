internal import Endpoints
internal import SignIn
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
        let codes = ["init_code", "return_to_code"].map { name in
            let values = request.parameters(name)
            return values.count == 1 ? values[0] : ""
        }
        guard !codes.contains("") else {
            return Herodot.error(
                .requestParameters,
                #""init_code" and "return_to_code" query params must be set"#,
                to: request
            )
        }
        switch await self.native.exchange(Secret(codes[0]), Secret(codes[1]), for: self.cookies.requester(request)) {
        case .exchanged(let token, let session): return self.signedIn(token, session, request)
        case .refused(let reason): return Herodot.error(reason, #"no session yet for this "code""#, to: request)
        case .throttled(let wait): return Herodot.throttled(.exchangeThrottled, to: request, retryAfter: wait)
        case .unavailable(let reason): return Herodot.unavailable(reason, to: request)
        case .notSignedIn(let id, let kept):
            guard let flow = self.flow(id, kept.kind) else {
                return Herodot.error(.exchangeUnknown, #"no session yet for this "code""#, to: request)
            }
            return .json(
                422,
                self.document(flow, kept, request).value(),
                reason: .exchangeNotSignedIn
            )
        }
    }
}
