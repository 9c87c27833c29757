package import Providers
package import SignOn
import Vocabulary

/// Sign-in at a provider's own pages, which set a cookie that the gateway accepts.
package struct ProviderPages: Sendable {
    let provider: KratosProvider
    let sessions: SessionService
    /// The origin of the host that forwards the pages.
    let home: String

    package init(_ provider: KratosProvider, sessions: SessionService, home: String) {
        self.provider = provider
        self.sessions = sessions
        self.home = home
    }
}

extension BrowserSessionEndpoints {
    /// Answers `GET /.sallyport/login`: 303 to the provider's page, which leads back to the wanted page.
    ///
    /// If the browser keeps coming back without a valid cookie, a page ends the loop (`CompletedSignIns.begun`).
    func login(_ request: EndpointRequest, _ pages: ProviderPages, _ name: String) async -> EndpointResponse {
        let demand = SignInDemand(request.query)
        let returnTo = self.returnTo(request.parameters(SignInPath.returnTo), request)
        guard request.isPageLoad else {
            return self.refuse(.signInNotNavigation, request, returnTo: returnTo, demanding: demand)
        }
        if !demand.isAgain, await self.sessions.isBlocked(request.requester) {
            return self.refuse(.signInBlocked, request, returnTo: returnTo, demanding: demand)
        }
        let recent = CompletedSignIns.begun(sessionCookie: self.cookies.name)
        let now = self.sessions.clock.now()
        guard demand.isAgain || !recent.isRepeating(request, at: now) else {
            return self.refuse(.signInRepeated, request, returnTo: returnTo, demanding: demand)
        }
        return self.lead(request, to: pages, name, returnTo: returnTo, demanding: demand)
    }

    /// Redirects to the provider's page.
    ///
    /// - Parameters:
    ///   - name: The provider's name.
    ///   - returnTo: A safe path on this host.
    func lead(
        _ request: EndpointRequest,
        to pages: ProviderPages,
        _ name: String,
        returnTo: String,
        demanding demand: SignInDemand
    ) -> EndpointResponse {
        let recent = CompletedSignIns.begun(sessionCookie: self.cookies.name)
        let now = self.sessions.clock.now()
        let path = pages.provider.signInPath(BrowserSignIn(callback: request.origin + returnTo, demand: demand))
        return .seeOther(
            pages.home + path,
            fields: [recent.note(request, at: now)] + self.lastWay.note(name, among: self.ways, request)
        )
    }
}
