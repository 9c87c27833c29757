import Providers
import Sessions
import SignOn
import Vocabulary

/// The return of the browser from the provider.
extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/callback`, or `/.sallyport/callback/NAME` on a host with several providers: 303 to the
    /// wanted page with the new session's cookie, or a page with the error.
    ///
    /// If the provider or the store cannot answer, the cookies stay and the user can reload the page. A sign-in whose
    /// cookie was shortened restarts by itself (`KeptCookies`).
    ///
    /// - Parameter named: The provider in the path. `nil` for the path without a name.
    func comeBack(_ request: EndpointRequest, _ named: BrowserSignInFlow?) async -> EndpointResponse {
        guard request.method != "POST" else { return self.take(request, named) }
        guard request.isPageLoad else { return self.refuse(.signInNotNavigation, request) }
        let request = self.unsealed(request, named)
        let flows = self.ways.flows
        let id = request.only("state") ?? ""
        let kept = self.signInCookies.kept(id, request)
        let pending = kept.flatMap { flows.first?.pending($0, id: id, on: request.authority) }
        let cleared = kept == nil ? [] : self.signInCookies.clear(id, request)
        // `nil` if this path is not the callback of the provider where the sign-in began. The path has no name if the
        // host had only one provider when the sign-in began.
        let flow: BrowserSignInFlow?
        if let named {
            flow = pending == nil || pending?.provider == named.name ? named : nil
        } else if flows.count == 1, flows[0].name == nil {
            flow = pending?.provider == nil ? flows[0] : nil
        } else {
            flow = flows.first { flow in pending.map(flow.began) ?? true }
        }
        guard let flow else {
            // A provider answered a sign-in that began at another provider, or a page forged the answer.
            let refusal = NotDone(.signInStateMismatch, detail: "the sign-in began at another provider")
            (named ?? flows[0]).record(refusal, .web, request.requester)
            return self.refuse(refusal.reason, request, fields: cleared)
        }
        guard let kept else { return await self.completeSignIn(request, flow, nil, clearing: cleared) }
        let key = CallbackFlights.Key(
            authority: request.authority,
            place: named?.name,
            kept: kept,
            sessions: request.requester.cookies,
            parameters: request.query.flatMap { [$0.name, $0.value] }
        )
        return await self.callbacks.answer(key) {
            await self.completeSignIn(request, flow, pending, clearing: cleared)
        }
    }

    /// The query parameter that carries a posted answer from POST to GET.
    private static let posted = "posted"

    /// Answers `POST /.sallyport/callback`, where a provider posts its answer: 303 to this path with the sealed answer
    /// in the query (`PostedAnswer`). The POST changes no state.
    private func take(_ request: EndpointRequest, _ named: BrowserSignInFlow?) -> EndpointResponse {
        guard request.isNavigation else { return self.refuse(.signInNotNavigation, request) }
        guard let flow = named ?? self.ways.flows.first, request.query.isEmpty,
            let form = try? BodyParameters(request, accepting: [.form]), let answer = PostedAnswer(form.text)
        else { return self.refuse(.signInMalformed, request) }
        let place = Self.callbackPath(of: named?.name, by: request.design)
        let text = String(decoding: flow.carry(answer, to: place, on: request.authority).bytes, as: UTF8.self)
        return .seeOther("\(place)?\(Self.posted)=\(text)")
    }

    /// Returns the request. A posted answer becomes its query.
    private func unsealed(_ request: EndpointRequest, _ named: BrowserSignInFlow?) -> EndpointRequest {
        guard let text = request.only(Self.posted), let flow = self.ways.flows.first else { return request }
        let place = Self.callbackPath(of: named?.name, by: request.design)
        let answer = flow.carried(Secret(text), to: place, on: request.authority)
        var request = request
        request.query = answer?.parameters.map { ($0.name, $0.value) } ?? []
        return request
    }

    /// Completes a sign-in at this provider.
    ///
    /// - Parameters:
    ///   - pending: The browser's state of the sign-in. `nil` if there is no readable state.
    ///   - cleared: The fields that delete the state in the browser.
    private func completeSignIn(
        _ request: EndpointRequest,
        _ flow: BrowserSignInFlow,
        _ pending: KeptSignIn?,
        clearing cleared: [(name: String, value: String)]
    ) async -> EndpointResponse {
        let requester = request.requester
        if let pending, let app = pending.app {
            guard let native = self.native else { return self.refuse(.signInStateMismatch, request, fields: cleared) }
            let own = native.signing(in: flow.sessions.realm)
            return await self.completeSignIn(request, flow, own, for: app, pending, clearing: cleared)
        }
        let returnTo = pending?.returnTo ?? "/"
        let demand = pending?.demand ?? SignInDemand()
        do throws(NotDone) {
            guard let pending else {
                try await flow.refuseUnknown(for: requester)
                return .seeOther(returnTo, fields: cleared)
            }
            guard let former = try await flow.former(pending, by: requester) else {
                return .seeOther(returnTo, fields: cleared)
            }
            if pending.beginsAgain {
                return await self.begin(
                    request,
                    flow,
                    returnTo: returnTo,
                    demanding: demand,
                    isRepeat: true,
                    fields: cleared
                )
            }
            let user = try await flow.prove(pending, request.query, .web, for: requester)
            let (token, session) = try await flow.sessions.replace(
                former,
                with: user.authentication,
                SessionTerms(.web),
                evidence: user.evidence,
                for: requester
            )
            let signedIn = self.cookies.signedIn(token, session, by: self.sessions, request)
            let noted = self.completedSignIns.note(request, at: session.issuedAt)
            let way = self.lastWay.note(flow.name, among: self.ways, request)
            return .seeOther(returnTo, fields: signedIn + [noted] + way + cleared)
        } catch {
            // If the level that a client requires was not reached, `/authorize` answers the client with an error.
            if error.reason == .signInInsufficient, demand.aal != nil, AuthorizationEndpoint.leadsHere(returnTo) {
                return .seeOther(returnTo, fields: cleared)
            }
            return self.refuse(
                error.reason,
                request,
                explanation: error.text,
                returnTo: returnTo,
                demanding: demand,
                retryAfter: error.retryAfter,
                fields: error.mayPass ? [] : cleared
            )
        }
    }
}
