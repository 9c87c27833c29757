import Pages
import Vocabulary

/// The paths of Authelia's portal that apps link to, on hosts with endpoints. They lead to the gateway's own pages.
package struct AutheliaPortal: Sendable {
    /// Finds the page in the query parameter `rd`.
    private let wanted: OAuth2ProxyEndpoints

    /// - Parameter wanted: Finds the wanted page. Authelia and oauth2-proxy both name it in `rd`.
    package init(wanted: OAuth2ProxyEndpoints) {
        self.wanted = wanted
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: "/", methods: ["GET", "HEAD"]) { request in
                let page = self.wanted.page(request)
                // A sign-in that returns to the portal itself would loop.
                guard page.origin != request.origin || page.path != "/" else { return .seeOther(SessionsPage.path) }
                let signIn = SignInPath.leading(to: page.path.utf8, demanding: SignInDemand())
                return .seeOther(page.origin + request.design.path(signIn))
            },
            // All hosts share the portal's session, so the user signs out here even if `rd` is on another host.
            Endpoint(path: "/logout", methods: ["GET", "HEAD", "POST"]) { request in
                let page = self.wanted.page(request)
                let path =
                    page.origin == request.origin
                    ? page.path : "/?" + FormText.encoded([("rd", page.origin + page.path)])
                return .seeOther("\(Page.logout)?" + FormText.encoded([(SignInPath.returnTo, path)]))
            },
        ]
    }
}
