import Endpoints
import Settings

/// Consumes the transfer tokens in requests for pages of the gateway.
extension RequestJudge {
    /// Consumes the request's transfer token with the settings of the route for `/`, then calls the page.
    mutating func handOff(
        before page: OutOfLine<EndpointCall>,
        on host: HostEntry,
        _ given: JudgingContext
    ) -> JudgeAction {
        guard case .route(let route) = host.match("/", "GET"), given.configuration.pinnedJudging != nil else {
            return .collect(page)
        }
        self.findings.pinnedRoute = route
        defer { self.leaveRoute() }
        return self.onRoute(given) { judge, given in
            guard given.route.settings.handoff,
                case .success(let credentials) = Credentials.read(
                    given.head,
                    given.base,
                    route: given.route,
                    cookies: given.cookies,
                    parameter: given.configuration.ownNames.parameter
                ),
                credentials.hasTransferToken
            else { return .collect(page) }
            judge.credentials = credentials
            if let action = judge.beginHandoff(given, before: page) { return action }
            return .collect(page)
        }
    }

    /// Removes the route that `handOff` has set. The log and the metrics show the page's path instead.
    mutating func leaveRoute() {
        if case .ended = self.state, self.findings.endpoint != nil { self.findings.pinnedRoute = nil }
    }
}
