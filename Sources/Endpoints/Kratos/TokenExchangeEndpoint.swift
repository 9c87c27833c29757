import Settings
import SignOn
import Vocabulary

/// The last step of a sign-in with the browser.
extension NativeFlowEndpoints {
    /// The endpoint `GET /sessions/token-exchange?init_code=&return_to_code=`.
    var exchangeEndpoint: Endpoint {
        .kratos("/sessions/token-exchange", ["GET"], outlivesClient: true, answer: self.exchange)
    }

    /// Answers with a session token for the app's code and the code that the browser brought back. If the sign-in
    /// failed, the answer is 422 with the flow, or 404 in the documented dialect. Unknown, expired, mismatched and
    /// replayed codes get one answer.
    @Sendable
    private func exchange(_ request: EndpointRequest) async -> EndpointResponse {
        let isDocumented = self.settings.dialect == .documented
        let codes = ["init_code", "return_to_code"].map { request.only($0) ?? "" }
        guard !codes.contains("") else {
            return isDocumented
                ? Herodot.error(
                    .requestParameters,
                    "init_code and return_to_code query params must be set",
                    to: request,
                    id: "bad_request"
                )
                : Herodot.error(
                    .requestParameters,
                    #""init_code" and "return_to_code" query params must be set"#,
                    to: request
                )
        }
        let requester = request.requester
        do throws(NotDone) {
            switch try await self.native.exchange(Secret(codes[0]), Secret(codes[1]), for: requester) {
            case .exchanged(let token, let session): return self.signedIn(token, session, request)
            case .ended: return self.refuse(.exchangeUnknown, request, hasEnded: true)
            case .notSignedIn(let id, let kept):
                guard let flow = self.flow(id, kept.wish.kind) else { return self.refuse(.exchangeUnknown, request) }
                return isDocumented
                    ? self.refuse(.exchangeNotSignedIn, request, hasEnded: true)
                    : .json(422, self.document(flow, kept, request).value(), reason: .exchangeNotSignedIn)
            }
        } catch {
            return Herodot.notDone(error, to: request) ?? self.refuse(error.reason, request)
        }
    }

    /// Refuses codes, with the wording of the API description that the operator's apps follow.
    ///
    /// - Parameter hasEnded: Whether the codes match, but their sign-in failed or their session has ended. If false,
    ///   the codes are unknown, unfinished, expired, mismatched or replayed.
    private func refuse(
        _ reason: Reason,
        _ request: EndpointRequest,
        hasEnded: Bool = false
    ) -> EndpointResponse {
        switch self.settings.dialect {
        case .current: Herodot.error(reason, #"no session yet for this "code""#, to: request)
        case .documented:
            Herodot.error(
                reason,
                "no session yet for this code",
                to: request,
                id: hasEnded ? "not_found" : "forbidden",
                status: hasEnded ? 404 : 403
            )
        }
    }
}
