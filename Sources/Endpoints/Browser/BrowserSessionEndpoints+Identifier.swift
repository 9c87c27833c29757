import SignOn
import Vocabulary

/// The sign-in page that asks for the user's address first (`sign_in: identifier_first`). What it answers depends on the
/// domain alone, so it tells nobody whether there is such a user.
extension BrowserSessionEndpoints {
    /// `GET /.sallyport/login`: the form for the address. It is posted with the demand of the page, which its answer keeps.
    func askForIdentifier(_ request: EndpointRequest, _ demand: SignInDemand) -> EndpointResponse {
        self.noticing(request, demand) { notice in
            Page.askForIdentifier(request, self.form(request, demand), notice: notice)
        }
    }

    private func form(_ request: EndpointRequest, _ demand: SignInDemand) -> Page.Form {
        let returnTo = self.returnTo(request.parameters(SignInPath.returnTo), request)
        return .identifier(to: SignInPath.leading(to: returnTo.utf8, demanding: demand))
    }

    /// The form of a request if it is the one for the address; nil: it is another one.
    func identifierForm(_ request: EndpointRequest) -> BodyParameters? {
        guard self.asksForIdentifier(request, self.ways.all),
            let form = try? BodyParameters(request, accepting: [.form]), form.text(Page.identifierFirst) != nil
        else { return nil }
        return form
    }

    /// The address in a form that was posted from a page of this host, as the user means it, and the demand that
    /// hints at it.
    ///
    /// - Parameter again: The form once more, which came without an address.
    private func identified(
        _ request: EndpointRequest,
        _ form: BodyParameters,
        _ demand: SignInDemand,
        again: () -> Page.Form,
        then answer: (SignInDemand, String) async -> EndpointResponse
    ) async -> EndpointResponse {
        // As for a password: a page of another site must not lead the browser to a provider in the user's name.
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

    /// `POST /.sallyport/login` with an address alone: 303 to the provider whose domains has it, or the page with the form
    /// for a password, which has the address, and with the others.
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

    /// The same for a native app: `POST /.sallyport/app`.
    ///
    /// - Parameters:
    ///   - demand: That of the app's flow.
    ///   - ways: Those by which an app's users can sign in.
    ///   - ask: The page that offers these ways, with the address.
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

    /// The form for the address of a native app's user.
    func form(of app: WaitingApp) -> Page.Form {
        .identifier(to: AppSignInPath.target(flow: app.flow, returnTo: app.returnTo))
    }
}
