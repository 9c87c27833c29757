import SignOn
import Vocabulary

/// The sign-in page that asks for the user's address first (`sign_in: identifier_first`). The answer depends only on
/// the domain, so it does not reveal whether a user exists.
extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/login` with the form for the address. The form's target contains `demand`.
    func askForIdentifier(_ request: EndpointRequest, _ demand: SignInDemand) -> EndpointResponse {
        self.noticing(request, demand) { notice in
            Page.askForIdentifier(request, self.form(request, demand), notice: notice)
        }
    }

    private func form(_ request: EndpointRequest, _ demand: SignInDemand) -> Page.Form {
        let returnTo = self.returnTo(request.parameters(SignInPath.returnTo), request)
        return .identifier(to: SignInPath.leading(to: returnTo.utf8, demanding: demand))
    }

    /// Returns the posted form if it is the form for the address. `nil` for any other form.
    func identifierForm(_ request: EndpointRequest) -> BodyParameters? {
        guard self.asksForIdentifier(request, self.ways.all),
            let form = try? BodyParameters(request, accepting: [.form]), form.text(Page.identifierFirst) != nil
        else { return nil }
        return form
    }

    /// Calls `answer` with the posted address, and with `demand` plus the address as a hint. Refuses cross-site forms.
    ///
    /// - Parameter again: Makes the form to show again if the address is missing.
    private func identified(
        _ request: EndpointRequest,
        _ form: BodyParameters,
        _ demand: SignInDemand,
        again: () -> Page.Form,
        then answer: (SignInDemand, String) async -> EndpointResponse
    ) async -> EndpointResponse {
        // A page of another site must not begin a sign-in.
        guard SameOrigin.isProven(request) else {
            await self.sessions.recordDenial(.requestCrossSite, for: request.requester)
            return self.refuse(.requestCrossSite, request)
        }
        let address = TypedAddress.meant(by: form.text("identifier") ?? "")
        guard !address.isEmpty else {
            return Page.askForIdentifier(request, again(), notice: .noIdentifier, reason: .signInIncomplete)
        }
        return await answer(demand.hinting(at: address), address)
    }

    /// Answers `POST /.sallyport/login` with an address only: 303 to the provider for the domain of the address, or the
    /// form for a password. If no way lists the domain, the page shows all ways that the query allows.
    func identify(_ request: EndpointRequest, _ form: BodyParameters) async -> EndpointResponse {
        let demand = SignInDemand(request.query)
        return await self.identified(request, form, demand, again: { self.form(request, demand) }) { demand, address in
            let ways = self.ways.meeting(demand)
            guard let way = ways.way(ofAddress: address) else {
                return await self.askToSignIn(request, ways, demand)
            }
            let returnTo = self.returnTo(request.parameters(SignInPath.returnTo), request)
            switch way.kind {
            case .password: return await self.askToSignIn(request, [way], demand)
            case .pages(let pages):
                return self.lead(request, to: pages, way.name, returnTo: returnTo, demanding: demand)
            case .provider(let flow):
                return await self.begin(request, flow, returnTo: returnTo, demanding: demand)
            }
        }
    }

    /// Answers `POST /.sallyport/app` with an address only, for a native app.
    ///
    /// - Parameters:
    ///   - demand: The demand of the app's flow.
    ///   - ways: The ways in which an app's users can sign in.
    ///   - ask: Makes the page with these ways and the address.
    func identify(
        _ request: EndpointRequest,
        _ form: BodyParameters,
        _ app: WaitingApp,
        _ demand: SignInDemand,
        among ways: [SignInWay],
        ask: ([SignInWay], String) -> EndpointResponse
    ) async -> EndpointResponse {
        await self.identified(request, form, demand, again: { self.form(of: app) }) { demand, address in
            guard let way = ways.way(ofAddress: address) else { return ask(ways, address) }
            guard case .provider(let flow) = way.kind else { return ask([way], address) }
            return await self.begin(request, flow, returnTo: "/", demanding: demand, for: app)
        }
    }

    /// Returns the form for the address of a native app's user.
    func form(of app: WaitingApp) -> Page.Form {
        .identifier(to: AppSignInPath.target(flow: app.flow, returnTo: app.returnTo))
    }
}
