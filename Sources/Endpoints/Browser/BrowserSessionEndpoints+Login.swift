import Providers
import SignOn
import Vocabulary

extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/login`. Begins the sign-in if there is only one way, or if the query selects a way
    /// (`provider`, `login_hint`). Otherwise the user chooses a way or enters an address.
    func login(_ request: EndpointRequest) async -> EndpointResponse {
        let demand = SignInDemand(request.query)
        let ways = self.ways.meeting(demand)
        let hinted = ways.count > 1 ? demand.loginHint.flatMap(ways.way) : nil
        guard let way = hinted ?? (ways.count == 1 ? ways[0] : nil) else {
            let isFirst = demand.loginHint == nil && self.asksForIdentifier(request, ways)
            return isFirst ? self.askForIdentifier(request, demand) : await self.askToSignIn(request, ways, demand)
        }
        switch way.kind {
        case .password: return await self.askToSignIn(request, [way], demand)
        case .pages(let pages):
            guard request.method == "GET" else { return .noContent() }
            return await self.login(request, pages, way.name)
        case .provider(let flow): return await self.login(request, flow)
        }
    }

    /// Redirects to the provider, even if the user is signed in, because a route may require a new sign-in.
    func login(_ request: EndpointRequest, _ flow: BrowserSignInFlow) async -> EndpointResponse {
        guard request.method == "GET" else { return .noContent() }
        let demand = SignInDemand(request.query)
        let returnTo = self.returnTo(request.parameters(SignInPath.returnTo), request)
        guard request.isPageLoad else {
            return self.refuse(.signInNotNavigation, request, returnTo: returnTo, demanding: demand)
        }
        guard demand.isAgain || !self.completedSignIns.isRepeating(request, at: self.sessions.clock.now()) else {
            return self.refuse(.signInRepeated, request, returnTo: returnTo, demanding: demand)
        }
        return await self.begin(request, flow, returnTo: returnTo, demanding: demand)
    }

    /// Redirects to the provider, with a cookie for the state of the sign-in.
    ///
    /// - Parameters:
    ///   - returnTo: A safe path on this host.
    ///   - app: The native app that the user signs in for. `nil` to start a session of the browser.
    ///   - isRepeat: Whether the sign-in replaces one that could not be completed.
    ///   - fields: Additional fields of the answer.
    func begin(
        _ request: EndpointRequest,
        _ flow: BrowserSignInFlow,
        returnTo: String,
        demanding demand: SignInDemand,
        for app: WaitingApp? = nil,
        isRepeat: Bool = false,
        fields: [(name: String, value: String)] = []
    ) async -> EndpointResponse {
        let wish = BrowserSignIn(
            callback: request.origin + Self.callbackPath(of: flow.name, by: request.design),
            demand: demand
        )
        do throws(NotDone) {
            let (url, id, kept) = try await flow.begin(
                wish,
                returnTo: returnTo,
                on: request.authority,
                for: app,
                isRepeat: isRepeat
            )
            let cookies = self.signInCookies.keep(kept, id: id, request, now: self.sessions.clock.now()) { other, id in
                flow.pending(other, id: id, on: request.authority).map { pending in
                    KeptCookies.Kept(begunAt: pending.begunAt) {
                        flow.shortened(pending, id: id, on: request.authority)
                    }
                }
            }
            return .seeOther(url, fields: cookies + fields)
        } catch {
            return self.refuse(error.reason, request, returnTo: returnTo, demanding: demand)
        }
    }

    /// The cookies of unfinished sign-ins at a provider, one for each sign-in. Several tabs may sign in at once.
    var signInCookies: KeptCookies {
        KeptCookies(sessionCookie: self.cookies.name, prefix: "signin-", lifetime: KeptSignIn.lifetime, most: 5)
    }

    var lastWay: LastWay { LastWay(sessionCookie: self.cookies.name) }

    var completedSignIns: CompletedSignIns { CompletedSignIns(sessionCookie: self.cookies.name) }

    /// Returns a refusal with a link to the sign-in page. It does not redirect, so that a failure does not loop.
    func refuse(
        _ reason: Reason,
        _ request: EndpointRequest,
        explanation: String? = nil,
        returnTo: String = "/",
        demanding demand: SignInDemand = SignInDemand(),
        retryAfter wait: Duration? = nil,
        fields: [(name: String, value: String)] = []
    ) -> EndpointResponse {
        var demand = demand
        switch reason {
        // Unless the provider asks the user again, the next sign-in fails for the same reason.
        case .signInBlocked, .signInInsufficient, .signInInteractionRequired, .signInNotAllowed, .signInRepeated:
            demand.isAgain = true
        default: break
        }
        var response = EndpointResponse.problem(
            reason,
            explanation: explanation,
            requestID: request.requestID,
            retryAfter: wait,
            loginURL: request.signInURL,
            // The URL of the callback contains a code.
            fields: [("referrer-policy", "no-referrer")] + fields
        )
        response.signIn = SignInPath.leading(to: returnTo.utf8, demanding: demand)
        return response
    }
}
