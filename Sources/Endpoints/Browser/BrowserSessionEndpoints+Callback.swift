internal import Providers
internal import Sessions
internal import SignOn
internal import Vocabulary

/// The way back from the provider.
extension BrowserSessionEndpoints {
    /// `GET /.sallyport/callback`: 303 to the page that the user wanted, with the new session's cookie, or a page that
    /// says why there is none. Where the provider or the store cannot answer, the cookies stay, and the page may be
    /// loaded again. A sign-in for which the browser had no room, because many tabs began one, begins again by itself: the
    /// provider knows the user by then.
    func comeBack(_ request: EndpointRequest, _ flow: BrowserSignInFlow) async -> EndpointResponse {
        guard request.isPageLoad else { return self.refuse(.signInNotNavigation, request) }
        let states = request.parameters("state")
        let id = states.count == 1 ? states[0] : ""
        guard let kept = self.signInCookies.kept(id, request) else {
            return await self.comeBack(request, flow, id, nil)
        }
        let key = CallbackFlights.Key(
            authority: request.authority,
            kept: kept,
            sessions: self.cookies.requester(request).cookies,
            parameters: request.query.flatMap { [$0.name, $0.value] }
        )
        return await self.callbacks.answer(key) { await self.comeBack(request, flow, id, kept) }
    }

    /// The same for a browser that has kept this of the sign-in `id`; nil: nothing.
    private func comeBack(
        _ request: EndpointRequest,
        _ flow: BrowserSignInFlow,
        _ id: String,
        _ kept: Secret?
    ) async -> EndpointResponse {
        let requester = self.cookies.requester(request)
        let pending = kept.flatMap { flow.pending($0, id: id, on: request.authority) }
        let cleared = kept == nil ? [] : self.signInCookies.clear(id, request)
        if let pending, let app = pending.app {
            guard let native = self.native else { return self.refuse(.signInStateMismatch, request, fields: cleared) }
            return await self.comeBack(request, flow, native, for: app, pending, clearing: cleared)
        }
        let returnTo = pending?.returnTo ?? "/"
        let demand = pending?.demand ?? SignInDemand()
        func refuse(
            _ reason: Reason,
            _ fields: [(name: String, value: String)] = [],
            explanation: String? = nil,
            retryAfter wait: Duration? = nil
        ) -> EndpointResponse {
            self.refuse(
                reason,
                request,
                explanation: explanation,
                returnTo: returnTo,
                demanding: demand,
                retryAfter: wait,
                fields: fields
            )
        }
        let outcome =
            if let pending {
                await flow.complete(pending, request.query, for: requester)
            } else {
                await flow.refuseUnknown(for: requester)
            }
        switch outcome {
        case .signedIn(let token, let session):
            let signedIn = self.cookies.signedIn(token, session, by: self.sessions, request)
            let noted = self.completedSignIns.note(request, at: session.issuedAt)
            return .seeOther(returnTo, fields: signedIn + [noted] + cleared)
        case .alreadySignedIn: return .seeOther(returnTo, fields: cleared)
        case .beginAgain:
            return await self.begin(
                request,
                flow,
                returnTo: returnTo,
                demanding: demand,
                isRepeat: true,
                fields: cleared
            )
        case .refused(let reason): return refuse(reason, cleared)
        case .denied(let text): return refuse(.ruleDenied, cleared, explanation: text)
        case .throttled(let wait): return refuse(.signInThrottled, retryAfter: wait)
        case .unavailable(let reason): return refuse(reason)
        }
    }
}
