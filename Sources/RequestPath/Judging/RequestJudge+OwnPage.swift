import Endpoints
import Settings

/// Signs users in with their transfer tokens on a page of the gateway.
extension RequestJudge {
    /// Handles the transfer token of a request to one of the gateway's pages as the route of `/` does, and then calls
    /// the page.
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

    /// Ends the use of a route for a page of the gateway, whose request is logged and counted under the page's path.
    mutating func leaveRoute() {
        if case .ended = self.state, self.findings.endpoint != nil { self.findings.pinnedRoute = nil }
    }
}
